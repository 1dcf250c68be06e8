package io.rdmaraw.channel;

import io.rdmaraw.metrics.internal.MetricsExporters;

import java.lang.management.ManagementFactory;

import javax.management.MBeanServer;
import javax.management.MalformedObjectNameException;
import javax.management.ObjectName;

/**
 * Waits for the thread that starts and stops the management bean and the flight recorder's events. It may still stop
 * those of an earlier test when a loop starts, and it holds the lock of {@link MetricsExporters} meanwhile.
 */
final class Exporters {
    static final MBeanServer SERVER = ManagementFactory.getPlatformMBeanServer();
    static final ObjectName BEAN = bean();

    private Exporters() {
    }

    private static ObjectName bean() {
        try {
            return new ObjectName("io.rdmaraw:type=Transport");
        } catch (MalformedObjectNameException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Returns when the bean and the events are registered. They stay so until the loop of the caller ends. */
    static void awaitStart() {
        Patience.until(() -> {
            synchronized (MetricsExporters.class) {
                return SERVER.isRegistered(BEAN);
            }
        }, "the bean");
    }

    /** Returns when the bean and the property for tools are gone. */
    static void awaitEnd() {
        Patience.until(() -> {
            synchronized (MetricsExporters.class) {
                return !SERVER.isRegistered(BEAN) && System.getProperty("io.rdmaraw.jmx.registered") == null;
            }
        }, "the end of the bean and of the property");
    }
}
