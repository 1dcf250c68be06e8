package io.rdmaraw.loop;

import io.netty.channel.Channel;
import io.netty.channel.EventLoop;
import io.netty.util.concurrent.EventExecutor;
import io.netty.util.concurrent.GlobalEventExecutor;

import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;

/** Submits tasks to event loops that may have terminated. */
public final class LoopTasks {
    private static final long RETRY_MILLIS = 1;

    private LoopTasks() {
    }

    /**
     * Executes a task on a loop, or runs {@code onLoopEnded} on the calling thread if the loop has terminated. A
     * running loop rejects a task if its bounded queue is full ({@code io.netty.eventLoop.maxPendingTasks}). Then the
     * task is offered again until the loop accepts it, perhaps behind later tasks. Thread-safe.
     */
    public static void executeOrElse(Executor loop, Runnable task, Runnable onLoopEnded) {
        try {
            loop.execute(task);
        } catch (RejectedExecutionException e) {
            if (loop instanceof EventExecutor running && !running.isShutdown()) {
                GlobalEventExecutor.INSTANCE.schedule(() -> executeOrElse(loop, task, onLoopEnded), RETRY_MILLIS,
                        TimeUnit.MILLISECONDS);
            } else {
                onLoopEnded.run();
            }
        }
    }

    /**
     * Runs a task on the loop of a channel: now if this is the loop, otherwise later. The channel may move while the
     * task is queued, so the task checks the loop again. Thread-safe.
     */
    public static void runOnLoopOf(Channel channel, Runnable task, Runnable onLoopEnded) {
        EventLoop loop = channel.eventLoop();
        if (loop.inEventLoop()) {
            task.run();
        } else {
            executeOrElse(loop, () -> runOnLoopOf(channel, task, onLoopEnded), onLoopEnded);
        }
    }
}
