package io.rdmaraw.metrics;

import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;

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

    /** Is notified of queues that open and close; called on their loops. */
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

    /** Adds a listener, which is notified immediately of existing queues. */
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

    /**
     * Adds a loop. Called by event loops when they start.
     *
     * @param threadName the name of the loop's thread
     * @param named      takes the name that tells the loop from all others
     */
    public static void loopStarted(RdmaRawLoopStatistics loop, String threadName, Consumer<String> named) {
        synchronized (LOOPS) {
            named.accept(freeName(loop, threadName));
            if (!LOOPS.contains(loop)) {
                LOOPS.add(loop);
            }
        }
    }

    /** Readers tell loops apart by their names, and threads of two groups can have the same name. */
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

    /** Removes a loop. Called by event loops when they end. */
    public static void loopEnded(RdmaRawLoopStatistics loop) {
        LOOPS.remove(loop);
    }

    /** Tells the listeners that a loop has opened a queue. Called by event loops. */
    public static void portOpened(RdmaRawLoopStatistics loop, RdmaRawPortStatistics port) {
        for (Listener listener : LISTENERS) {
            try {
                listener.portOpened(loop, port);
            } catch (RuntimeException e) {
                LOGGER.warn("a listener of the metrics failed", e);
            }
        }
    }

    /** Tells the listeners that a loop has closed a queue. Called by event loops. */
    public static void portClosed(RdmaRawLoopStatistics loop, RdmaRawPortStatistics port) {
        for (Listener listener : LISTENERS) {
            try {
                listener.portClosed(loop, port);
            } catch (RuntimeException e) {
                LOGGER.warn("a listener of the metrics failed", e);
            }
        }
    }
}
