package io.rdmaraw.metrics.internal;

import io.netty.util.internal.SystemPropertyUtil;
import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import io.rdmaraw.metrics.RdmaRawMetrics;

import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Registers the MBean and the JFR events with the first loop, and removes them with the last one. Otherwise they would
 * keep the class loader of a web application that has ended. Uses a separate thread, because loading JMX takes longer
 * than starting a server.
 */
public final class MetricsExporters {
    private static final InternalLogger LOGGER = InternalLoggerFactory.getInstance(MetricsExporters.class);
    /** Whether JFR is available; a runtime image may lack its module or that of JMX. */
    public static final boolean HAS_FLIGHT_RECORDER = hasModule("jdk.jfr");
    private static final boolean HAS_JMX = hasModule("java.management")
            && SystemPropertyUtil.getBoolean("io.rdmaraw.jmx", true);
    /** System property by which tools on this host identify the process without starting an agent in it. */
    private static final String REGISTERED_PROPERTY = "io.rdmaraw.jmx.registered";
    private static final AtomicBoolean SCHEDULED = new AtomicBoolean();

    private static volatile boolean exported;
    /** Name of the MBean; null if there is none. */
    private static String beanName;

    private MetricsExporters() {
    }

    private static boolean hasModule(String name) {
        return ModuleLayer.boot().findModule(name).isPresent();
    }

    /** Starts or stops the exporters if necessary. Loops call this when they have started and when they have ended. */
    public static void loopsChanged() {
        if (isOutdated() && SCHEDULED.compareAndSet(false, true)) {
            try {
                Thread.ofPlatform().daemon().name("rdma-raw-metrics").start(MetricsExporters::update);
            } catch (OutOfMemoryError e) {
                // A loop that ends must still release its descriptors.
                SCHEDULED.set(false);
                LOGGER.warn("cannot start a thread for the transport's metrics: {}", e.toString());
            }
        }
    }

    private static boolean isOutdated() {
        return exported == RdmaRawMetrics.loops().isEmpty();
    }

    private static synchronized void update() {
        SCHEDULED.set(false);
        while (isOutdated()) {
            try {
                if (exported) {
                    stop();
                } else {
                    start();
                }
            } catch (Exception | LinkageError e) {
                LOGGER.warn("cannot export the transport's metrics by JMX or flight recorder: {}", e.toString());
            }
            exported = !exported;
        }
    }

    private static void start() throws Exception {
        if (HAS_JMX) {
            beanName = TransportMBean.register();
            System.setProperty(REGISTERED_PROPERTY, beanName);
        }
        if (HAS_FLIGHT_RECORDER) {
            FlightRecorderEvents.registerPeriodic();
        }
    }

    private static void stop() throws Exception {
        if (HAS_FLIGHT_RECORDER) {
            FlightRecorderEvents.unregisterPeriodic();
        }
        if (beanName != null) {
            TransportMBean.unregister(beanName);
            if (!TransportMBean.isAnyRegistered()) {
                System.clearProperty(REGISTERED_PROPERTY);
            }
            beanName = null;
        }
    }
}
