package io.rdmaraw.loop;

import io.netty.channel.IoHandlerContext;

/** Prevents a handler of Netty that shares the loop from blocking. */
final class NonBlockingContext implements IoHandlerContext {
    static final NonBlockingContext INSTANCE = new NonBlockingContext();

    private NonBlockingContext() {
    }

    @Override
    public boolean canBlock() {
        return false;
    }

    @Override
    public long delayNanos(long currentTimeNanos) {
        return 0;
    }

    @Override
    public long deadlineNanos() {
        return -1;
    }
}
