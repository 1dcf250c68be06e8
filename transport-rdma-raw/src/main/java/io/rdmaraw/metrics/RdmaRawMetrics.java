package io.rdmaraw.metrics;

import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;

/**
 * Entry point to the metrics of all loops in this process.
 * <pre>{@code
 * for (RdmaRawLoopStatistics loop : RdmaRawMetrics.loops()) {
 *     loop.metrics().forEach(metric -> System.out.println(metric.name() + " " + loop.value(metric)));
 * }
 * }</pre>
 *
 * <p>The same metrics are available through JMX as {@code io.rdmaraw:type=Transport}, which
 * {@code ./rdma-raw top} reads, and as JFR events. {@code -Dio.rdmaraw.jmx=false} disables JMX. Thread-safe.
 */
public final class RdmaRawMetrics {
    private static final InternalLogger LOGGER = InternalLoggerFactory.getInstance(RdmaRawMetrics.class);
    private static final List<RdmaRawLoopStatistics> LOOPS = new CopyOnWriteArrayList<>();
    private static final List<Listener> LISTENERS = new CopyOnWriteArrayList<>();

    private RdmaRawMetrics() {
    }

    /** Receives notifications about queues. Methods are called on the queue's event loop and must not block. */
    public interface Listener {
        /** Called after a loop has opened a queue on a device port. */
        void queueOpened(RdmaRawLoopStatistics loop, RdmaRawQueueStatistics queue);

        /** Called after a queue has been closed. Its counters do not change any more. */
        void queueClosed(RdmaRawLoopStatistics loop, RdmaRawQueueStatistics queue);
    }

    /** Returns the running loops. */
    public static List<RdmaRawLoopStatistics> loops() {
        return List.copyOf(LOOPS);
    }

    /** Adds a listener. It is notified immediately, on the calling thread, of the queues that are already open. */
    public static void addListener(Listener listener) {
        LISTENERS.add(listener);
        for (RdmaRawLoopStatistics loop : LOOPS) {
            loop.queues().forEach(queue -> listener.queueOpened(loop, queue));
        }
    }

    /** Removes a listener. */
    public static void removeListener(Listener listener) {
        LISTENERS.remove(listener);
    }

    /**
     * Registers a loop that has started; for the transport's event loops, not for programs.
     *
     * @param threadName the name of the loop's thread
     * @param setName    receives the unique name of the loop
     */
    public static void loopStarted(RdmaRawLoopStatistics loop, String threadName, Consumer<String> setName) {
        synchronized (LOOPS) {
            setName.accept(freeName(loop, threadName));
            if (!LOOPS.contains(loop)) {
                LOOPS.add(loop);
            }
        }
    }

    /** Returns a unique name for a loop. Threads of different groups can have the same name. */
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

    /** Unregisters a loop that has terminated; for the transport's event loops, not for programs. */
    public static void loopEnded(RdmaRawLoopStatistics loop) {
        LOOPS.remove(loop);
    }

    /** Notifies the listeners that a loop has opened a queue; for the transport's event loops, not for programs. */
    public static void queueOpened(RdmaRawLoopStatistics loop, RdmaRawQueueStatistics queue) {
        for (Listener listener : LISTENERS) {
            try {
                listener.queueOpened(loop, queue);
            } catch (RuntimeException e) {
                LOGGER.warn("a listener of the metrics failed", e);
            }
        }
    }

    /** Notifies the listeners that a loop has closed a queue; for the transport's event loops, not for programs. */
    public static void queueClosed(RdmaRawLoopStatistics loop, RdmaRawQueueStatistics queue) {
        for (Listener listener : LISTENERS) {
            try {
                listener.queueClosed(loop, queue);
            } catch (RuntimeException e) {
                LOGGER.warn("a listener of the metrics failed", e);
            }
        }
    }
}
