package io.rdmaraw.metrics.internal;

import io.netty.util.internal.SystemPropertyUtil;
import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;

/**
 * Starts the JMX bean and the flight recorder's events, once, with the first loop. On a separate thread: the classes of
 * JMX take longer to load than a server takes to start.
 */
public final class MetricsExporters {
    private static final InternalLogger LOGGER = InternalLoggerFactory.getInstance(MetricsExporters.class);
    /** A runtime image may leave either module out. */
    public static final boolean HAS_FLIGHT_RECORDER = hasModule("jdk.jfr");
    private static final boolean HAS_JMX = hasModule("java.management")
            && SystemPropertyUtil.getBoolean("io.rdmaraw.jmx", true);

    static {
        Thread.ofPlatform().daemon().name("rdma-raw-metrics").start(MetricsExporters::start);
    }

    private MetricsExporters() {
    }

    public static void ensureStarted() {
        // The static initialiser does it.
    }

    private static boolean hasModule(String name) {
        return ModuleLayer.boot().findModule(name).isPresent();
    }

    private static void start() {
        try {
            if (HAS_JMX) {
                TransportMBean.register();
                // How a tool on this host tells this process from other JVMs without starting anything in it.
                System.setProperty("io.rdmaraw.jmx.registered", TransportMBean.OBJECT_NAME);
            }
            if (HAS_FLIGHT_RECORDER) {
                FlightRecorderEvents.registerPeriodic();
            }
        } catch (Exception | LinkageError e) {
            LOGGER.warn("cannot export the transport's metrics by JMX or flight recorder: {}", e.toString());
        }
    }
}
