package io.rdmaraw.channel;

import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelPromise;
import io.netty.channel.EventLoop;
import io.netty.channel.IoEventLoop;
import io.netty.channel.IoHandlerFactory;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.util.concurrent.EventExecutor;
import io.netty.util.concurrent.Future;
import io.netty.util.concurrent.Promise;
import io.netty.util.concurrent.PromiseCombiner;
import io.rdmaraw.tcp.stack.TcpStack;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.Executor;
import java.util.concurrent.ThreadFactory;

/**
 * A group of loops that drive raw-packet queues. Beside a
 * {@link MultiThreadIoEventLoopGroup} with {@link RdmaRawIoHandler#newFactory()}, its loops know their channels.
 *
 * {@snippet :
 * String device = "soft:xdp:eth0";
 * EventLoopGroup group = RdmaRaw.isAvailable(device)
 *         ? new RdmaRawEventLoopGroup(2, RdmaRawIoHandlerConfig.builder().device(device).build())
 *         : new MultiThreadIoEventLoopGroup(NioIoHandler.newFactory());
 * }
 */
public final class RdmaRawEventLoopGroup extends MultiThreadIoEventLoopGroup {
    private final RdmaRawIoHandlerConfig config;

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

    /** Makes a group of Netty's default number of loops with default settings, whose threads come from a factory. */
    public RdmaRawEventLoopGroup(ThreadFactory threadFactory) {
        this(0, threadFactory);
    }

    /**
     * Makes a group with default settings whose threads come from a factory.
     *
     * @param loops number of loops, 0 for Netty's default
     */
    public RdmaRawEventLoopGroup(int loops, ThreadFactory threadFactory) {
        this(loops, threadFactory, RdmaRawIoHandlerConfig.defaults());
    }

    /** Makes a group of Netty's default number of loops. */
    public RdmaRawEventLoopGroup(RdmaRawIoHandlerConfig config) {
        this(0, config);
    }

    /**
     * Makes a group.
     *
     * @param loops number of loops, 0 for Netty's default
     */
    public RdmaRawEventLoopGroup(int loops, RdmaRawIoHandlerConfig config) {
        super(loops, RdmaRawIoHandler.newFactory(config));
        this.config = config;
    }

    /**
     * Makes a group whose threads come from a factory.
     *
     * @param loops number of loops, 0 for Netty's default
     */
    public RdmaRawEventLoopGroup(int loops, ThreadFactory threadFactory, RdmaRawIoHandlerConfig config) {
        super(loops, threadFactory, RdmaRawIoHandler.newFactory(config));
        this.config = config;
    }

    private RdmaRawEventLoopGroup(RdmaRawIoHandlerConfig config, int loops, Executor executorOrNull) {
        super(loops, executorOrNull, RdmaRawIoHandler.newFactory(config));
        this.config = config;
    }

    /**
     * Makes a group whose threads are an executor's: each loop takes one for as long as it lives.
     *
     * @param loops number of loops, 0 for Netty's default
     * @param executorOrNull null for threads of Netty's own
     */
    public static RdmaRawEventLoopGroup onExecutor(int loops, Executor executorOrNull, RdmaRawIoHandlerConfig config) {
        return new RdmaRawEventLoopGroup(config, loops, executorOrNull);
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

    /**
     * Makes the TCP of all loops ready for a port that they share.
     *
     * @param told the loop on which the future tells; its own TCP comes first if it is one of the group
     */
    Future<List<TcpStack>> tcpStacks(EventLoop told) {
        List<Future<TcpStack>> parts = new ArrayList<>();
        for (EventExecutor loop : this) {
            Future<TcpStack> part = ((RdmaRawEventLoop) loop).tcpStack(told);
            parts.add(loop == told ? 0 : parts.size(), part);
        }
        Promise<Void> all = told.newPromise();
        PromiseCombiner combiner = new PromiseCombiner(told);
        parts.forEach(combiner::add);
        combiner.finish(all);
        Promise<List<TcpStack>> stacks = told.newPromise();
        all.addListener(done -> {
            if (done.isSuccess()) {
                stacks.setSuccess(parts.stream().map(Future::getNow).toList());
            } else {
                stacks.setFailure(done.cause());
            }
        });
        return stacks;
    }

    /** Tells whether the loops can serve a port of another group's: by the same device, as the same host. */
    boolean canServe(RdmaRawIoHandlerConfig other) {
        return config.ipDevice().equals(other.ipDevice()) && config.takeoverOrNull() == other.takeoverOrNull()
                && Objects.equals(config.userspaceHostOrNull(), other.userspaceHostOrNull());
    }

    /** Returns how many loops there are, in what state, and their settings. */
    @Override
    public String toString() {
        return "RdmaRawEventLoopGroup(" + executorCount() + " loops" + (isTerminated() ? ", terminated"
                : isShuttingDown() ? ", shutting down" : "") + ", " + config + ')';
    }

    /** Returns the loop of this group that a channel's segments come to, or null. */
    private EventLoop home(Channel channel) {
        if (channel instanceof RdmaRawSocketChannel socket && socket.transport() != null) {
            EventLoop loop = socket.transport().loop();
            return loop.parent() == this ? loop : null;
        }
        return null;
    }
}
