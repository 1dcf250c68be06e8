package io.rdmaraw.tcp.stack;

import io.netty.util.concurrent.SingleThreadEventExecutor;
import io.netty.util.concurrent.ThreadAwareExecutor;
import io.rdmaraw.loop.LoopTasks;

/**
 * Flushes by tasks of a loop, of channels that allow it, that wait for what the tasks behind them flush: they share a
 * doorbell. While others keep the loop busy there is always a task behind, so this puts itself behind those that are
 * there now; when they have flushed nothing, or were the last, all that waits leaves. For the loop's thread.
 */
final class HeldFlushes implements Runnable {
    /** The peers of the first ones are to begin while there are many more. */
    private static final int MOST = 32;

    private final TcpStack stack;
    private final ThreadAwareExecutor loop;
    private int count;
    /** How many there were when this was put behind the loop's tasks. */
    private int countThen;
    private boolean queued;

    HeldFlushes(TcpStack stack, ThreadAwareExecutor loop) {
        this.stack = stack;
        this.loop = loop;
    }

    /** Tells whether the loop has more tasks to do, apart from this. */
    boolean hasTasksBehind() {
        return loop instanceof SingleThreadEventExecutor tasks && tasks.pendingTasks() > (queued ? 1 : 0);
    }

    /** One more is to wait; returns false if there are too many. */
    boolean add() {
        if (++count >= MOST) {
            return false;
        }
        if (!queued) {
            putBehind();
        }
        return true;
    }

    boolean isEmpty() {
        return count == 0;
    }

    /** All of them have left. */
    void clear() {
        count = 0;
    }

    private void putBehind() {
        queued = true;
        countThen = count;
        LoopTasks.executeOrElse(loop, this, this);
    }

    @Override
    public void run() {
        queued = false;
        if (count > countThen && hasTasksBehind()) {
            putBehind();
        } else if (count > 0) {
            stack.flushNow();
        }
    }
}
