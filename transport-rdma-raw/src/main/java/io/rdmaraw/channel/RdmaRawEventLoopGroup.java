package io.rdmaraw.channel;

import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelPromise;
import io.netty.channel.EventLoop;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.IoEventLoop;
import io.netty.channel.IoEventLoopGroup;
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
import java.util.concurrent.TimeUnit;

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
    /** Quiet period, long enough for a loop to close its channels before it ends. */
    private static final long COMPANION_QUIET_MILLIS = 100;
    private static final long COMPANION_TIMEOUT_MILLIS = 15_000;

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
        EventLoop receivingLoop = receivingLoop(this, channel);
        return receivingLoop == null ? super.register(channel) : receivingLoop.register(channel);
    }

    /** Registers the channel of a promise; see {@link #register(Channel)}. */
    @Override
    public ChannelFuture register(ChannelPromise promise) {
        EventLoop receivingLoop = receivingLoop(this, promise.channel());
        return receivingLoop == null ? super.register(promise) : receivingLoop.register(promise);
    }

    /** Returns the number of loops, the state of the group and its configuration. */
    @Override
    public String toString() {
        return "RdmaRawEventLoopGroup(" + executorCount() + " loops" + (isTerminated() ? ", terminated"
                : isShuttingDown() ? ", shutting down" : "") + ", " + config + ')';
    }

    // ---- groups of this transport, and groups of Netty with loops that the Java agent created ----

    /** Returns whether the loops of a group are event loops of this transport. */
    static boolean isRdmaRaw(EventLoopGroup groupOrNull) {
        return groupOrNull instanceof RdmaRawEventLoopGroup
                || groupOrNull instanceof IoEventLoopGroup && !(groupOrNull instanceof EventLoop)
                && groupOrNull.iterator().next() instanceof RdmaRawEventLoop;
    }

    /** Creates a loop for one of Netty's own groups. The Java agent calls this method by reflection. */
    static IoEventLoop newLoop(IoEventLoopGroup parent, Executor executor, IoHandlerFactory factory,
            Object[] arguments) {
        return RdmaRawEventLoop.withArguments(parent, executor, factory, arguments);
    }

    /**
     * Creates a group of Netty's own loops in addition to a group of this transport, for channels that only Netty's
     * loops can drive. It ends after the other group. The Java agent calls this method by reflection.
     *
     * @param handlerType Netty's class of I/O handlers
     */
    static IoEventLoopGroup newCompanion(IoEventLoopGroup group, Executor executor, Class<?> handlerType)
            throws ReflectiveOperationException {
        IoHandlerFactory factory = (IoHandlerFactory) handlerType.getMethod("newFactory").invoke(null);
        IoEventLoopGroup companion = new MultiThreadIoEventLoopGroup(size(group), executor, factory);
        group.terminationFuture().addListener(ended -> companion.shutdownGracefully(COMPANION_QUIET_MILLIS,
                COMPANION_TIMEOUT_MILLIS, TimeUnit.MILLISECONDS));
        return companion;
    }

    /**
     * Returns the loop of a group that receives the segments of an accepted connection; null if there is none. The Java
     * agent calls this method by reflection.
     */
    static EventLoop receivingLoop(EventLoopGroup group, Channel channel) {
        if (channel instanceof RdmaRawSocketChannel socket && socket.transport() != null) {
            EventLoop loop = socket.transport().loop();
            return loop.parent() == group ? loop : null;
        }
        return null;
    }

    /**
     * Opens the TCP stacks of all loops and prepares them for a port that they share.
     *
     * @param listenerLoop loop on which the listeners of the future are called; if it belongs to the group, its stack
     *         is the first of the list
     */
    static Future<List<TcpStack>> openTcpStacks(EventLoopGroup group, EventLoop listenerLoop) {
        List<Future<TcpStack>> parts = new ArrayList<>();
        for (EventExecutor loop : group) {
            Future<TcpStack> part = ((RdmaRawEventLoop) loop).openTcpStack(listenerLoop);
            parts.add(loop == listenerLoop ? 0 : parts.size(), part);
        }
        Promise<Void> all = listenerLoop.newPromise();
        PromiseCombiner combiner = new PromiseCombiner(listenerLoop);
        parts.forEach(combiner::add);
        combiner.finish(all);
        Promise<List<TcpStack>> stacks = listenerLoop.newPromise();
        all.addListener(done -> {
            if (done.isSuccess()) {
                stacks.setSuccess(parts.stream().map(Future::getNow).toList());
            } else {
                stacks.setFailure(done.cause());
            }
        });
        return stacks;
    }

    /**
     * Returns whether the loops of a group can serve a port of another group: they use the same device, host and
     * takeover.
     */
    static boolean canServe(EventLoopGroup group, RdmaRawIoHandlerConfig other) {
        return haveSameHost(((RdmaRawEventLoop) group.iterator().next()).handler().config(), other);
    }

    /** Returns whether groups with these settings use the same device and the same addresses. */
    static boolean haveSameHost(RdmaRawIoHandlerConfig config, RdmaRawIoHandlerConfig other) {
        return config.device().equals(other.device()) && config.takeoverOrNull() == other.takeoverOrNull()
                && Objects.equals(config.userspaceHostOrNull(), other.userspaceHostOrNull());
    }

    /** Returns the number of loops of a group. */
    static int size(EventLoopGroup group) {
        int loops = 0;
        for (EventExecutor ignored : group) {
            loops++;
        }
        return loops;
    }
}
