package io.rdmaraw.channel;

import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelPromise;
import io.netty.channel.DefaultChannelPromise;
import io.netty.channel.EventLoop;
import io.netty.channel.EventLoopTaskQueueFactory;
import io.netty.channel.IoEventLoopGroup;
import io.netty.channel.IoHandlerFactory;
import io.netty.channel.SingleThreadIoEventLoop;
import io.netty.util.concurrent.Future;
import io.netty.util.concurrent.Promise;
import io.netty.util.concurrent.RejectedExecutionHandler;
import io.rdmaraw.loop.LoopTasks;
import io.rdmaraw.tcp.stack.TcpStack;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;

/**
 * An event loop that tracks the channels registered with it: channels of this transport and NIO channels. Netty's own
 * loops provide the same list.
 */
final class RdmaRawEventLoop extends SingleThreadIoEventLoop {
    /** Channels of this transport. Each channel stores its index in this list. */
    private final List<AbstractRdmaRawChannel> channels = new ArrayList<>();
    private final Set<Channel> nioChannels = new LinkedHashSet<>();

    RdmaRawEventLoop(IoEventLoopGroup parent, Executor executor, IoHandlerFactory ioHandlerFactory) {
        super(parent, executor, ioHandlerFactory);
    }

    private RdmaRawEventLoop(IoEventLoopGroup parent, Executor executor, IoHandlerFactory ioHandlerFactory,
            Queue<Runnable> taskQueue, Queue<Runnable> tailTaskQueue, RejectedExecutionHandler rejected) {
        super(parent, executor, ioHandlerFactory, taskQueue, tailTaskQueue, rejected);
    }

    /**
     * Creates a loop from the arguments of Netty's own groups.
     *
     * @param arguments arguments of a group's {@code newChild}: a {@link RejectedExecutionHandler}, the factory of the
     *         task queue and the factory of the tail task queue; the array may be shorter
     */
    static RdmaRawEventLoop withArguments(IoEventLoopGroup parent, Executor executor, IoHandlerFactory factory,
            Object... arguments) {
        return arguments.length == 0 ? new RdmaRawEventLoop(parent, executor, factory)
                : new RdmaRawEventLoop(parent, executor, factory, newTaskQueue(arguments, 1),
                        newTaskQueue(arguments, 2), (RejectedExecutionHandler) arguments[0]);
    }

    @SuppressWarnings("deprecation") // EventLoopTaskQueueFactory, an argument of Netty's groups
    private static Queue<Runnable> newTaskQueue(Object[] arguments, int index) {
        return arguments.length > index && arguments[index] != null
                ? ((EventLoopTaskQueueFactory) arguments[index]).newTaskQueue(DEFAULT_MAX_PENDING_TASKS)
                : newTaskQueue0(DEFAULT_MAX_PENDING_TASKS);
    }

    /** Returns the I/O handler that drives this loop. */
    RdmaRawIoHandler handler() {
        return (RdmaRawIoHandler) ioHandler();
    }

    @Override
    public ChannelFuture register(Channel channel) {
        return register(new DefaultChannelPromise(channel, this));
    }

    @Override
    public ChannelFuture register(ChannelPromise promise) {
        Channel channel = promise.channel();
        ChannelFuture registered = super.register(promise);
        if (channel instanceof AbstractRdmaRawChannel) {
            // Channels of this transport call addChannel() and removeChannel() themselves.
            return registered;
        }
        return registered.addListener(future -> {
            if (future.isSuccess()) {
                // The listener runs on this loop, with which the channel is registered now.
                nioChannels.add(channel);
                channel.closeFuture().addListener(closed -> forget(channel));
            }
        });
    }

    /** Adds a channel to the list. Called on the loop. */
    void addChannel(AbstractRdmaRawChannel channel) {
        channel.indexInLoop(channels.size());
        channels.add(channel);
    }

    /** Removes a channel from the list. Called on the loop. */
    void removeChannel(AbstractRdmaRawChannel channel) {
        AbstractRdmaRawChannel last = channels.removeLast();
        if (last != channel) {
            last.indexInLoop(channel.indexInLoop());
            channels.set(channel.indexInLoop(), last);
        }
    }

    /**
     * Opens the TCP stack of this loop and prepares it for ports that several loops share. Can be called on any thread.
     *
     * @param listenerLoop loop on which the listeners of the future are called
     * @return a future of the stack; it fails if the stack cannot be opened or this loop has ended
     */
    Future<TcpStack> openTcpStack(EventLoop listenerLoop) {
        Promise<TcpStack> promise = listenerLoop.newPromise();
        Runnable open = () -> {
            try {
                TcpStack stack = handler().openTcpStack();
                stack.prepareForRss();
                promise.setSuccess(stack);
            } catch (IOException | RuntimeException e) {
                promise.setFailure(e);
            }
        };
        if (inEventLoop()) {
            open.run();
        } else {
            LoopTasks.executeOrElse(this, open,
                    () -> promise.setFailure(new RejectedExecutionException("the event loop has ended")));
        }
        return promise;
    }

    private void forget(Channel nioChannel) {
        if (inEventLoop()) {
            nioChannels.remove(nioChannel);
        } else if (!isShuttingDown()) {
            execute(() -> nioChannels.remove(nioChannel));
        }
    }

    /**
     * Closes the channels while the loop still accepts the tasks that closing creates. Netty skips this step if the
     * shutdown starts between Netty's check and the tasks of a round. Afterwards the loop delivers the data of closed
     * channels, before the loop rejects tasks of other loops.
     */
    @Override
    protected boolean confirmShutdown() {
        if (isShuttingDown()) {
            handler().prepareToDestroy();
        }
        boolean confirmed = super.confirmShutdown();
        if (confirmed && !isShutdown()) {
            handler().drain(this::runAllTasks);
        }
        return confirmed;
    }

    @Override
    public int registeredChannels() {
        removeMovedNioChannels();
        return channels.size() + nioChannels.size();
    }

    @Override
    public Iterator<Channel> registeredChannelsIterator() {
        assert inEventLoop();
        removeMovedNioChannels();
        List<Channel> all = new ArrayList<>(channels);
        all.addAll(nioChannels);
        return new ChannelsReadOnlyIterator<>(all);
    }

    /**
     * Removes NIO channels that have moved. A NIO channel does not notify its old loop when it moves, so the list is
     * cleaned before each read.
     */
    private void removeMovedNioChannels() {
        nioChannels.removeIf(nioChannel -> !nioChannel.isRegistered() || nioChannel.eventLoop() != this);
    }
}
