package io.rdmaraw.queue;

import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import io.rdmaraw.verbs.DeviceName;
import io.rdmaraw.verbs.DirectAccess;
import io.rdmaraw.verbs.objects.QueuePair;
import io.rdmaraw.verbs.objects.VerbsContext;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.ServiceConfigurationError;
import java.util.ServiceLoader;
import java.util.stream.Collectors;

/** The installed {@link DirectRings} services, loaded once. */
final class DirectRingsRegistry {
    private static final InternalLogger LOGGER = InternalLoggerFactory.getInstance(DirectRingsRegistry.class);
    private static final List<DirectRings> KINDS = load(ServiceLoader.load(DirectRings.class,
            DirectRings.class.getClassLoader()).iterator());

    private DirectRingsRegistry() {
    }

    /**
     * Loads the services. One that cannot be loaded is skipped with a warning; its devices are then driven
     * through libibverbs.
     */
    static List<DirectRings> load(Iterator<DirectRings> services) {
        List<DirectRings> kinds = new ArrayList<>();
        boolean more = true;
        while (more) {
            try {
                more = services.hasNext();
                if (more) {
                    kinds.add(services.next());
                }
            } catch (ServiceConfigurationError e) {
                LOGGER.warn("cannot load a driver for direct ring access; its devices use libibverbs", e);
            }
        }
        return List.copyOf(kinds);
    }

    /**
     * Returns the direct rings of a device, or null if the device is to be driven through libibverbs.
     *
     * @throws UnsupportedOperationException if direct rings are required and not available
     */
    static DirectRings of(DirectAccess asked, VerbsContext context) {
        if (asked == DirectAccess.NEVER) {
            return null;
        }
        boolean soft = isSoft(context);
        for (DirectRings kind : KINDS) {
            if (!soft && kind.unavailability(context) == null) {
                return kind;
            }
        }
        if (asked == DirectAccess.REQUIRED && KINDS.isEmpty()) {
            throw new UnsupportedOperationException("direct verbs are required, but no service " + DirectRings.class
                    .getName() + " is on the class path; when jars are merged, merge META-INF/services too");
        }
        if (asked == DirectAccess.REQUIRED) {
            throw new UnsupportedOperationException("direct verbs are required, but "
                    + (soft ? context.deviceName() + " is a software device" : unavailability(context))
                    + "; use a device of " + devices()
                    + ", or leave the choice to the transport (DirectAccess.AUTO)");
        }
        return null;
    }

    private static boolean isSoft(VerbsContext context) {
        return new DeviceName(context.deviceName()).isSoftware();
    }

    private static String unavailability(VerbsContext context) {
        return KINDS.stream().map(kind -> kind.unavailability(context)).collect(Collectors.joining(" and "));
    }

    /** Returns whether TSO sends posted through libibverbs work on this device. */
    static boolean callsCanSegment(VerbsContext context) {
        // Some driver libraries have a defect in TSO sends. Without a service that knows the library, assume the
        // defect.
        return isSoft(context) || !KINDS.isEmpty() && KINDS.stream().allMatch(kind -> kind.callsCanSegment(context));
    }

    /** Calls {@link DirectRings#noteCalls} of all services. */
    static Runnable noteCalls(VerbsContext context, QueuePair queuePair) {
        List<Runnable> ends = new ArrayList<>();
        if (!isSoft(context)) {
            KINDS.forEach(kind -> ends.add(kind.noteCalls(context, queuePair)));
        }
        return () -> ends.forEach(Runnable::run);
    }

    /** Returns the kinds of devices with direct rings, for messages. */
    static String devices() {
        return KINDS.stream().map(DirectRings::devices).collect(Collectors.joining(" or "));
    }
}
