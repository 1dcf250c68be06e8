package io.rdmaraw.loop;

import io.netty.channel.IoOps;
import io.netty.channel.IoRegistration;
import io.netty.util.concurrent.ThreadAwareExecutor;

/** The registration of a channel with a handler of Netty that shares the loop. Reports its end on the loop. */
abstract class DelegatedRegistration implements IoRegistration {
    private final ThreadAwareExecutor executor;
    final IoRegistration delegate;

    DelegatedRegistration(ThreadAwareExecutor executor, IoRegistration delegate) {
        this.executor = executor;
        this.delegate = delegate;
    }

    /** Called on the loop after the registration was cancelled. */
    abstract void removed();

    @Override
    public <T> T attachment() {
        return delegate.attachment();
    }

    @Override
    public long submit(IoOps ops) {
        return delegate.submit(ops);
    }

    @Override
    public boolean isValid() {
        return delegate.isValid();
    }

    @Override
    public boolean cancel() {
        if (!delegate.cancel()) {
            return false;
        }
        if (executor.isExecutorThread(Thread.currentThread())) {
            removed();
        } else {
            executor.execute(this::removed);
        }
        return true;
    }
}
