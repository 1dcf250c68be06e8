package io.rdmaraw.channel;

import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelPromise;
import io.netty.channel.EventLoop;
import io.netty.channel.IoEventLoop;
import io.netty.channel.IoHandlerFactory;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.util.concurrent.EventExecutor;

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

    /** Registers a channel: the one of an accepted connection on the loop that receives its segments. */
    @Override
    public ChannelFuture register(Channel channel) {
        EventLoop home = home(channel);
        return home == null ? super.register(channel) : home.register(channel);
    }

    /** As {@link #register(Channel)}. */
    @Override
    public ChannelFuture register(ChannelPromise promise) {
        EventLoop home = home(promise.channel());
        return home == null ? super.register(promise) : home.register(promise);
    }

    /** Returns the loop of this group that a channel's segments come to, or null. */
    private EventLoop home(Channel channel) {
        if (channel instanceof RdmaRawSocketChannel socket && socket.flow() != null) {
            for (EventExecutor loop : this) {
                if (socket.flow().stack().isOf((EventLoop) loop)) {
                    return (EventLoop) loop;
                }
            }
        }
        return null;
    }
}
