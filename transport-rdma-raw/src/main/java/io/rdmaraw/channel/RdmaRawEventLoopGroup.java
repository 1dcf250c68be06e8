package io.rdmaraw.channel;

import io.netty.channel.IoEventLoop;
import io.netty.channel.IoHandlerFactory;
import io.netty.channel.MultiThreadIoEventLoopGroup;

import java.util.concurrent.Executor;
import java.util.concurrent.ThreadFactory;

/**
 * A group of loops that drive raw-packet queues. Beside a
 * {@link MultiThreadIoEventLoopGroup} with {@link RdmaRawIoHandler#newFactory()}, its loops know their channels.
 */
public final class RdmaRawEventLoopGroup extends MultiThreadIoEventLoopGroup {
    /** Makes a group of Netty's default number of loops with default settings. */
    public RdmaRawEventLoopGroup() {
        this(0);
    }

    /**
     * Makes a group with default settings.
     *
     * @param loops number of loops, 0 for Netty's default
     */
    public RdmaRawEventLoopGroup(int loops) {
        this(loops, RdmaRawIoHandlerConfig.defaults());
    }

    /**
     * Makes a group.
     *
     * @param loops number of loops, 0 for Netty's default
     */
    public RdmaRawEventLoopGroup(int loops, RdmaRawIoHandlerConfig config) {
        super(loops, RdmaRawIoHandler.newFactory(config));
    }

    /**
     * Makes a group whose threads come from a factory.
     *
     * @param loops number of loops, 0 for Netty's default
     */
    public RdmaRawEventLoopGroup(int loops, ThreadFactory threadFactory, RdmaRawIoHandlerConfig config) {
        super(loops, threadFactory, RdmaRawIoHandler.newFactory(config));
    }

    @Override
    protected IoEventLoop newChild(Executor executor, IoHandlerFactory ioHandlerFactory, Object... args) {
        return new RdmaRawEventLoop(this, executor, ioHandlerFactory);
    }
}
