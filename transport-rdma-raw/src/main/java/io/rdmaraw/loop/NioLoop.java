package io.rdmaraw.loop;

import io.netty.channel.IoHandle;
import io.netty.channel.IoHandler;
import io.netty.channel.IoHandlerContext;
import io.netty.channel.IoRegistration;
import io.netty.channel.nio.NioIoHandle;
import io.netty.channel.nio.NioIoHandler;
import io.netty.util.concurrent.ThreadAwareExecutor;
import io.netty.util.concurrent.Ticker;

/**
 * The NIO channels of a loop, served by Netty's NIO handler in turn with the queues. Its selector is created
 * with the first such channel, so loops without NIO channels have no overhead.
 */
public final class NioLoop {
    private final ThreadAwareExecutor executor;
    private final DeadlineContext untilDeadline = new DeadlineContext();
    private volatile IoHandler handler;
    private int handleCount;
    /**
     * Set when a channel was cancelled. Its descriptor is closed by the next select call, so one more is
     * needed.
     */
    private boolean cancelled;

    public NioLoop(ThreadAwareExecutor executor) {
        this.executor = executor;
    }

    public void initialize() {
        if (handler != null) {
            handler.initialize();
        }
    }

    public boolean hasHandles() {
        return handleCount > 0 || cancelled;
    }

    /** Returns whether a closed channel still holds its descriptor, and thus possibly a listening port. */
    public boolean hasCancelledHandles() {
        return cancelled;
    }

    public boolean isCompatible(Class<? extends IoHandle> handleType) {
        return NioIoHandle.class.isAssignableFrom(handleType);
    }

    public IoRegistration register(IoHandle handle) throws Exception {
        if (handler == null) {
            IoHandler nioHandler = NioIoHandler.newFactory().newHandler(executor);
            nioHandler.initialize();
            handler = nioHandler;
        }
        IoRegistration registration = handler.register(handle);
        handleCount++;
        return new CountedRegistration(registration);
    }

    /** Handles ready channels without blocking. */
    public int runNow() {
        cancelled = false;
        return handler.run(NonBlockingContext.INSTANCE);
    }

    /**
     * Blocks in the selector until a channel is ready, a timer expires, or {@link #wakeup()} is called.
     *
     * @param deadlineNanos latest time to return, in terms of {@link System#nanoTime()}
     */
    int run(IoHandlerContext context, long deadlineNanos) {
        cancelled = false;
        return handler.run(deadlineNanos == Long.MAX_VALUE ? context : untilDeadline.wrap(context, deadlineNanos));
    }

    void wakeup() {
        handler.wakeup();
    }

    public void prepareToDestroy() {
        if (handler != null) {
            handler.prepareToDestroy();
        }
    }

    public void destroy() {
        if (handler != null) {
            handler.destroy();
        }
    }

    private final class CountedRegistration extends DelegatedRegistration {
        CountedRegistration(IoRegistration delegate) {
            super(executor, delegate);
        }

        @Override
        void removed() {
            handleCount--;
            cancelled = true;
        }
    }

    /** Limits the time for which the NIO handler blocks. */
    private static final class DeadlineContext implements IoHandlerContext {
        private IoHandlerContext delegate;
        private long deadlineNanos;

        DeadlineContext wrap(IoHandlerContext context, long newDeadlineNanos) {
            delegate = context;
            deadlineNanos = newDeadlineNanos;
            return this;
        }

        @Override
        public boolean canBlock() {
            return delegate.canBlock() && deadlineNanos - System.nanoTime() > 0;
        }

        @Override
        public long delayNanos(long currentTimeNanos) {
            return Math.min(delegate.delayNanos(currentTimeNanos), Math.max(0, deadlineNanos - currentTimeNanos));
        }

        @Override
        public long deadlineNanos() {
            return Math.min(delegate.deadlineNanos(), deadlineNanos - Ticker.systemTicker().initialNanoTime());
        }
    }
}
