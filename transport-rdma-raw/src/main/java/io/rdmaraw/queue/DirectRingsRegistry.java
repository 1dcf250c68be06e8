package io.rdmaraw.queue;

import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import io.rdmaraw.verbs.DeviceName;
import io.rdmaraw.verbs.DirectAccess;
import io.rdmaraw.verbs.QueuePair;
import io.rdmaraw.verbs.VerbsContext;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.ServiceConfigurationError;
import java.util.ServiceLoader;
import java.util.stream.Collectors;

/** The kinds of {@link DirectRings} that there are, loaded once. */
final class DirectRingsRegistry {
    private static final InternalLogger LOGGER = InternalLoggerFactory.getInstance(DirectRingsRegistry.class);
    private static final List<DirectRings> KINDS = load(ServiceLoader.load(DirectRings.class,
            DirectRings.class.getClassLoader()).iterator());

    private DirectRingsRegistry() {
    }

    /** A kind that cannot be loaded is missed where it is asked for; other devices work without it. */
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
                LOGGER.warn("a kind of direct verbs cannot be loaded, its devices are driven by libibverbs", e);
            }
        }
        return List.copyOf(kinds);
    }

    /**
     * Returns the rings of a device, or null where frames go through the calls of libibverbs.
     *
     * @throws UnsupportedOperationException when rings are required and cannot be used in place
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

    /** Returns whether the calls of libibverbs can send payloads that this device cuts into segments. */
    static boolean callsCanSegment(VerbsContext context) {
        // Without a kind that knows the device's library it is not known to be right.
        return isSoft(context) || !KINDS.isEmpty() && KINDS.stream().allMatch(kind -> kind.callsCanSegment(context));
    }

    /** As {@link DirectRings#noteCalls}, for whichever kind of device it is. */
    static Runnable noteCalls(VerbsContext context, QueuePair queuePair) {
        List<Runnable> ends = new ArrayList<>();
        if (!isSoft(context)) {
            KINDS.forEach(kind -> ends.add(kind.noteCalls(context, queuePair)));
        }
        return () -> ends.forEach(Runnable::run);
    }

    /** Returns the devices whose rings can be used in place, for messages. */
    static String devices() {
        return KINDS.stream().map(DirectRings::devices).collect(Collectors.joining(" or "));
    }
}
