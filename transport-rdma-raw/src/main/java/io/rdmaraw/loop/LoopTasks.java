package io.rdmaraw.loop;

import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;

/** Hands tasks to event loops that may have ended. */
public final class LoopTasks {
    private LoopTasks() {
    }

    /** Has a task done on a loop; if the loop has ended, {@code ended} is done here. Any thread. */
    public static void executeOrElse(Executor loop, Runnable task, Runnable ended) {
        try {
            loop.execute(task);
        } catch (RejectedExecutionException e) {
            ended.run();
        }
    }
}
