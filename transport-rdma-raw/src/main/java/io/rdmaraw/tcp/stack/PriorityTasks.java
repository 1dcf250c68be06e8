package io.rdmaraw.tcp.stack;

import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;

import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

/**
 * Tasks from other threads that must run before the loop processes a frame that arrives later. An ordinary task of the
 * loop would be too late: the loop runs it after a whole burst, and the burst may contain a frame that depends on the
 * task. For example, when {@code bind()} has returned, a client may send its SYN at once. Frames of a run that the loop
 * is processing already are not affected.
 */
final class PriorityTasks {
    private static final InternalLogger LOGGER = InternalLoggerFactory.getInstance(PriorityTasks.class);

    private final Queue<Runnable> tasks = new ConcurrentLinkedQueue<>();
    /** Set if there may be tasks. The loop reads this flag once for each run of frames. */
    private volatile boolean pending;

    /** Adds a task. May be called on any thread. */
    void add(Runnable task) {
        tasks.add(task);
        pending = true;
    }

    /**
     * Runs the pending tasks in order. Called on the loop. A task may call this method. If another task was added after
     * the outer call began, the nested call runs all remaining tasks. Otherwise it runs none: the outer call runs them
     * when the calling task has returned.
     */
    void run() {
        if (pending) {
            runAll();
        }
    }

    private void runAll() {
        // Cleared before the first poll: a task added concurrently either runs now or sets the flag again.
        pending = false;
        Runnable task;
        while ((task = tasks.poll()) != null) {
            try {
                task.run();
            } catch (Throwable e) {
                // A failed task must not prevent the later tasks or the processing of the next frame.
                LOGGER.warn("an event loop cannot start or stop serving a TCP port: close the server and bind it"
                        + " again", e);
            }
        }
    }
}
