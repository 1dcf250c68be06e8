package io.rdmaraw.tcp.stack;

import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;

import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

/**
 * What other threads want to have done on a loop before it looks at the next frame. A task of the loop's own would come
 * too late: the loop may be in the middle of its input, and a frame that is a consequence of what was asked for, as a
 * SYN is of a bind() that has returned, may be in that.
 */
final class BeforeFrames {
    private static final InternalLogger LOGGER = InternalLoggerFactory.getInstance(BeforeFrames.class);

    private final Queue<Runnable> tasks = new ConcurrentLinkedQueue<>();
    /** Some may be there: one read for each run of frames. */
    private volatile boolean some;

    /** Takes a task. Any thread. */
    void add(Runnable task) {
        tasks.add(task);
        some = true;
    }

    /** Does what is there, in order. On the loop; from within a task it goes on with those behind. */
    void run() {
        if (some) {
            runAll();
        }
    }

    private void runAll() {
        // Before the first is taken: one that is added meanwhile is done now, or finds it set.
        some = false;
        Runnable task;
        while ((task = tasks.poll()) != null) {
            try {
                task.run();
            } catch (RuntimeException | OutOfMemoryError e) {
                // The frame that the loop was about to look at, and the tasks behind, are no part of it.
                LOGGER.warn("an event loop could not begin or end to serve a TCP port: close the server and bind it"
                        + " again", e);
            }
        }
    }
}
