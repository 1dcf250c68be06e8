package io.rdmaraw.channel;

import io.netty.channel.Channel;
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
import java.util.concurrent.TimeUnit;

/**
 * Operations on the event loops of a group. The group is an {@link RdmaRawEventLoopGroup}, or a group of Netty with
 * loops that the Java agent created.
 */
final class LoopGroups {
    /** Quiet period, long enough for a loop to close its channels before it ends. */
    private static final long COMPANION_QUIET_MILLIS = 100;
    private static final long COMPANION_TIMEOUT_MILLIS = 15_000;

    private LoopGroups() {
    }

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
