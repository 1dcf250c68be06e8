package io.rdmaraw.metrics.internal;

import io.netty.util.internal.SystemPropertyUtil;
import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;

/**
 * Registers the MBean and the JFR events once, with the first loop. Uses a separate thread, because loading JMX
 * takes longer than starting a server.
 */
public final class MetricsExporters {
    private static final InternalLogger LOGGER = InternalLoggerFactory.getInstance(MetricsExporters.class);
    /** Whether JFR is available; a runtime image may lack its module or that of JMX. */
    public static final boolean HAS_FLIGHT_RECORDER = hasModule("jdk.jfr");
    private static final boolean HAS_JMX = hasModule("java.management")
            && SystemPropertyUtil.getBoolean("io.rdmaraw.jmx", true);

    static {
        Thread.ofPlatform().daemon().name("rdma-raw-metrics").start(MetricsExporters::start);
    }

    private MetricsExporters() {
    }

    public static void ensureStarted() {
        // The static initialiser starts the exporters.
    }

    private static boolean hasModule(String name) {
        return ModuleLayer.boot().findModule(name).isPresent();
    }

    private static void start() {
        try {
            if (HAS_JMX) {
                TransportMBean.register();
                // Tools on this host identify the process by this property without starting an agent in it.
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
