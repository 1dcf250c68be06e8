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

/** The installed {@link DirectRingDriver} services, loaded once. */
final class DirectRingDrivers {
    private static final InternalLogger LOGGER = InternalLoggerFactory.getInstance(DirectRingDrivers.class);
    private static final List<DirectRingDriver> SERVICES = load(ServiceLoader.load(DirectRingDriver.class,
            DirectRingDriver.class.getClassLoader()).iterator());

    private DirectRingDrivers() {
    }

    /**
     * Loads the services. One that cannot be loaded is skipped with a warning; its devices are then driven
     * through libibverbs.
     */
    static List<DirectRingDriver> load(Iterator<DirectRingDriver> services) {
        List<DirectRingDriver> loaded = new ArrayList<>();
        boolean more = true;
        while (more) {
            try {
                more = services.hasNext();
                if (more) {
                    loaded.add(services.next());
                }
            } catch (ServiceConfigurationError e) {
                LOGGER.warn("cannot load a driver for direct ring access; its devices use libibverbs", e);
            }
        }
        return List.copyOf(loaded);
    }

    /**
     * Returns the direct rings of a device, or null if the device is to be driven through libibverbs.
     *
     * @throws UnsupportedOperationException if direct rings are required and not available
     */
    static DirectRingDriver of(DirectAccess requested, VerbsContext context) {
        if (requested == DirectAccess.NEVER) {
            return null;
        }
        boolean isSoft = isSoft(context);
        for (DirectRingDriver driver : SERVICES) {
            if (!isSoft && driver.unavailability(context) == null) {
                return driver;
            }
        }
        if (requested == DirectAccess.REQUIRED && SERVICES.isEmpty()) {
            throw new UnsupportedOperationException("direct verbs are required, but no service "
                    + DirectRingDriver.class.getName() + " is on the class path; when jars are merged, merge"
                    + " META-INF/services too");
        }
        if (requested == DirectAccess.REQUIRED) {
            throw new UnsupportedOperationException("direct verbs are required, but "
                    + (isSoft ? context.deviceName() + " is a software device" : unavailability(context))
                    + "; use a device of " + driverNames()
                    + ", or leave the choice to the transport (DirectAccess.AUTO)");
        }
        return null;
    }

    private static boolean isSoft(VerbsContext context) {
        return new DeviceName(context.deviceName()).isSoftware();
    }

    private static String unavailability(VerbsContext context) {
        return SERVICES.stream().map(driver -> driver.unavailability(context)).collect(Collectors.joining(" and "));
    }

    /** Returns whether TSO sends posted through libibverbs work on this device. */
    static boolean verbsSupportsTso(VerbsContext context) {
        // Some driver libraries have a defect in TSO sends. Without a service that knows the library, assume the
        // defect.
        return isSoft(context) || !SERVICES.isEmpty()
                && SERVICES.stream().allMatch(driver -> driver.verbsSupportsTso(context));
    }

    /** Calls {@link DirectRingDriver#registerVerbsSender} of all services. */
    static Runnable registerVerbsSender(VerbsContext context, QueuePair queuePair) {
        List<Runnable> deregistrations = new ArrayList<>();
        if (!isSoft(context)) {
            SERVICES.forEach(driver -> deregistrations.add(driver.registerVerbsSender(context, queuePair)));
        }
        return () -> deregistrations.forEach(Runnable::run);
    }

    /** Returns the kinds of devices with direct rings, for messages. */
    static String driverNames() {
        return SERVICES.stream().map(DirectRingDriver::driverName).collect(Collectors.joining(" or "));
    }
}
