package io.rdmaraw.channel;

import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelPromise;
import io.netty.channel.EventLoop;
import io.netty.channel.IoEventLoop;
import io.netty.channel.IoHandlerFactory;
import io.netty.channel.MultiThreadIoEventLoopGroup;

import java.util.concurrent.Executor;
import java.util.concurrent.ThreadFactory;

/**
 * An event loop group for this transport. Unlike with a plain {@link MultiThreadIoEventLoopGroup} and
 * {@link RdmaRawIoHandler#newFactory()}, all loops of the group serve the port of a TCP server, and an accepted
 * connection is registered with the loop that receives its segments. So segments do not pass between loops.
 *
 * {@snippet :
 * String device = "soft:xdp:eth0";
 * EventLoopGroup group = RdmaRaw.isAvailable(device)
 *         ? new RdmaRawEventLoopGroup(2, RdmaRawIoHandlerConfig.builder().device(device).build())
 *         : new MultiThreadIoEventLoopGroup(NioIoHandler.newFactory());
 * }
 *
 * <p>A loop opens a queue on the device, with its own memory (8 MiB by default), when its first channel needs one. Then
 * it polls. Netty's default number of loops, two per core, is therefore rarely right. Name as many loops as the
 * interface has receive queues, and no more than the cores that you can spare.
 *
 * <p>All constructors throw {@link UnsatisfiedLinkError} if the transport cannot run in this process; see
 * {@link RdmaRaw#unavailabilityCause()}.
 */
public final class RdmaRawEventLoopGroup extends MultiThreadIoEventLoopGroup {
    private final RdmaRawIoHandlerConfig config;

    /** Creates a group with Netty's default number of loops, two per core, and the default configuration. */
    public RdmaRawEventLoopGroup() {
        this(0);
    }

    /**
     * Creates a group with the default configuration.
     *
     * @param loops number of loops; 0 for Netty's default, two per core
     */
    public RdmaRawEventLoopGroup(int loops) {
        this(loops, RdmaRawIoHandlerConfig.defaults());
    }

    /**
     * Creates a group with Netty's default number of loops, two per core, the default configuration and threads of the
     * given factory.
     */
    public RdmaRawEventLoopGroup(ThreadFactory threadFactory) {
        this(0, threadFactory);
    }

    /**
     * Creates a group with the default configuration and threads of the given factory.
     *
     * @param loops number of loops; 0 for Netty's default, two per core
     */
    public RdmaRawEventLoopGroup(int loops, ThreadFactory threadFactory) {
        this(loops, threadFactory, RdmaRawIoHandlerConfig.defaults());
    }

    /** Creates a group with Netty's default number of loops, two per core. */
    public RdmaRawEventLoopGroup(RdmaRawIoHandlerConfig config) {
        this(0, config);
    }

    /**
     * Creates a group.
     *
     * @param loops number of loops; 0 for Netty's default, two per core
     */
    public RdmaRawEventLoopGroup(int loops, RdmaRawIoHandlerConfig config) {
        super(loops, RdmaRawIoHandler.newFactory(config));
        this.config = config;
    }

    /**
     * Creates a group with threads of the given factory.
     *
     * @param loops number of loops; 0 for Netty's default, two per core
     */
    public RdmaRawEventLoopGroup(int loops, ThreadFactory threadFactory, RdmaRawIoHandlerConfig config) {
        super(loops, threadFactory, RdmaRawIoHandler.newFactory(config));
        this.config = config;
    }

    @Override
    protected IoEventLoop newChild(Executor executor, IoHandlerFactory ioHandlerFactory, Object... args) {
        return new RdmaRawEventLoop(this, executor, ioHandlerFactory);
    }

    /**
     * Registers a channel with a loop of this group. The channel of an accepted connection is registered with the loop
     * that receives its segments, if that loop belongs to this group.
     */
    @Override
    public ChannelFuture register(Channel channel) {
        EventLoop receivingLoop = LoopGroups.receivingLoop(this, channel);
        return receivingLoop == null ? super.register(channel) : receivingLoop.register(channel);
    }

    /** Registers the channel of a promise; see {@link #register(Channel)}. */
    @Override
    public ChannelFuture register(ChannelPromise promise) {
        EventLoop receivingLoop = LoopGroups.receivingLoop(this, promise.channel());
        return receivingLoop == null ? super.register(promise) : receivingLoop.register(promise);
    }

    /** Returns the number of loops, the state of the group and its configuration. */
    @Override
    public String toString() {
        return "RdmaRawEventLoopGroup(" + executorCount() + " loops" + (isTerminated() ? ", terminated"
                : isShuttingDown() ? ", shutting down" : "") + ", " + config + ')';
    }
}
