package io.rdmaraw.channel;

import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelPromise;
import io.netty.channel.DefaultChannelPromise;
import io.netty.channel.EventLoop;
import io.netty.channel.IoEventLoopGroup;
import io.netty.channel.IoHandlerFactory;
import io.netty.channel.SingleThreadIoEventLoop;
import io.netty.util.concurrent.Future;
import io.netty.util.concurrent.Promise;
import io.rdmaraw.loop.LoopTasks;
import io.rdmaraw.tcp.stack.TcpStack;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;

/** An event loop that knows its channels, those of the transport and NIO channels, as Netty's own loops do. */
final class RdmaRawEventLoop extends SingleThreadIoEventLoop {
    /** Each knows its place here. */
    private final List<AbstractRdmaRawChannel> channels = new ArrayList<>();
    /** The NIO channels. */
    private final Set<Channel> nioChannels = new LinkedHashSet<>();

    RdmaRawEventLoop(IoEventLoopGroup parent, Executor executor, IoHandlerFactory ioHandlerFactory) {
        super(parent, executor, ioHandlerFactory);
    }

    /** Returns what drives the loop. */
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
            // It says itself when it comes and goes.
            return registered;
        }
        return registered.addListener(future -> {
            if (future.isSuccess()) {
                // The listener runs on this loop, which is the channel's now.
                nioChannels.add(channel);
                channel.closeFuture().addListener(closed -> forget(channel));
            }
        });
    }

    /** A channel has come; on the loop. */
    void joined(AbstractRdmaRawChannel channel) {
        channel.placeOnLoop(channels.size());
        channels.add(channel);
    }

    /** A channel that had come leaves; on the loop. */
    void left(AbstractRdmaRawChannel channel) {
        AbstractRdmaRawChannel last = channels.removeLast();
        if (last != channel) {
            last.placeOnLoop(channel.placeOnLoop());
            channels.set(channel.placeOnLoop(), last);
        }
    }

    /**
     * Makes this loop's TCP ready for ports that it shares with others. Any thread.
     *
     * @param told the loop on which the future tells
     */
    Future<TcpStack> tcpStack(EventLoop told) {
        Promise<TcpStack> promise = told.newPromise();
        Runnable make = () -> {
            try {
                TcpStack stack = handler().tcp();
                stack.prepareToShare();
                promise.setSuccess(stack);
            } catch (RuntimeException e) {
                promise.setFailure(e);
            }
        };
        if (inEventLoop()) {
            make.run();
        } else {
            LoopTasks.executeOrElse(this, make,
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

    @Override
    public int registeredChannels() {
        dropNioChannelsGone();
        return channels.size() + nioChannels.size();
    }

    @Override
    public Iterator<Channel> registeredChannelsIterator() {
        assert inEventLoop();
        dropNioChannelsGone();
        List<Channel> all = new ArrayList<>(channels);
        all.addAll(nioChannels);
        return new ChannelsReadOnlyIterator<>(all);
    }

    /**
     * A NIO channel does not tell its old loop when it moves to another, so moved channels are removed before each
     * read.
     */
    private void dropNioChannelsGone() {
        nioChannels.removeIf(nioChannel -> !nioChannel.isRegistered() || nioChannel.eventLoop() != this);
    }
}
