package io.rdmaraw.channel;

import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/**
 * What all loops of the process count. The same is on JMX, as {@code io.rdmaraw:type=Transport}, where
 * {@code ./rdma-raw top} reads it ({@code -Dio.rdmaraw.jmx=false} leaves that out), and in events of the flight
 * recorder.
 */
public final class RdmaRawMetrics {
    private static final InternalLogger LOGGER = InternalLoggerFactory.getInstance(RdmaRawMetrics.class);
    private static final List<RdmaRawLoopStatistics> LOOPS = new CopyOnWriteArrayList<>();
    private static final List<Listener> LISTENERS = new CopyOnWriteArrayList<>();

    private RdmaRawMetrics() {
    }

    /** Hears of queues that come and go; called on their loops. */
    public interface Listener {
        /** A loop has opened a queue on a port. */
        void portOpened(RdmaRawLoopStatistics loop, RdmaRawPortStatistics port);

        /** The queue is closed; its counts do not change any more. */
        void portClosed(RdmaRawLoopStatistics loop, RdmaRawPortStatistics port);
    }

    /** Returns the loops that run. */
    public static List<RdmaRawLoopStatistics> loops() {
        return List.copyOf(LOOPS);
    }

    /** Adds a listener, which hears of the queues that are there at once. */
    public static void addListener(Listener listener) {
        LISTENERS.add(listener);
        for (RdmaRawLoopStatistics loop : LOOPS) {
            loop.ports().forEach(port -> listener.portOpened(loop, port));
        }
    }

    /** Removes a listener. */
    public static void removeListener(Listener listener) {
        LISTENERS.remove(listener);
    }

    static void loopStarted(RdmaRawLoopStatistics loop, String threadName) {
        Observers.ensureStarted();
        synchronized (LOOPS) {
            loop.name(freeName(loop, threadName));
            if (!LOOPS.contains(loop)) {
                LOOPS.add(loop);
            }
        }
    }

    /** Whoever reads the counts tells loops by their names, and threads of two groups can have the same. */
    private static String freeName(RdmaRawLoopStatistics loop, String threadName) {
        String name = threadName;
        for (int n = 2; isTaken(name, loop); n++) {
            name = threadName + '#' + n;
        }
        return name;
    }

    private static boolean isTaken(String name, RdmaRawLoopStatistics by) {
        return LOOPS.stream().anyMatch(loop -> loop != by && loop.name().equals(name));
    }

    static void loopEnded(RdmaRawLoopStatistics loop) {
        LOOPS.remove(loop);
    }

    static void portOpened(RdmaRawLoopStatistics loop, RdmaRawPortStatistics port) {
        for (Listener listener : LISTENERS) {
            try {
                listener.portOpened(loop, port);
            } catch (RuntimeException e) {
                LOGGER.warn("a listener of the metrics failed", e);
            }
        }
    }

    static void portClosed(RdmaRawLoopStatistics loop, RdmaRawPortStatistics port) {
        for (Listener listener : LISTENERS) {
            try {
                listener.portClosed(loop, port);
            } catch (RuntimeException e) {
                LOGGER.warn("a listener of the metrics failed", e);
            }
        }
    }
}
