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

import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.Set;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;

/** A loop that knows its channels, its own and the NIO guests, as Netty's own loops do. */
final class RdmaRawEventLoop extends SingleThreadIoEventLoop {
    private final Set<Channel> channels = new LinkedHashSet<>();

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
        return super.register(promise).addListener(future -> {
            if (future.isSuccess()) {
                // The listener runs on this loop, which is the channel's now.
                channels.add(channel);
                channel.closeFuture().addListener(closed -> forget(channel));
            }
        });
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
            try {
                execute(make);
            } catch (RejectedExecutionException e) {
                promise.setFailure(e);
            }
        }
        return promise;
    }

    private void forget(Channel channel) {
        if (inEventLoop()) {
            channels.remove(channel);
        } else if (!isShuttingDown()) {
            execute(() -> channels.remove(channel));
        }
    }

    @Override
    public int registeredChannels() {
        dropThoseGone();
        return channels.size();
    }

    @Override
    public Iterator<Channel> registeredChannelsIterator() {
        assert inEventLoop();
        dropThoseGone();
        return new ChannelsReadOnlyIterator<>(channels);
    }

    /** A channel that moves to another loop says nothing to this one, so it is found when somebody asks. */
    private void dropThoseGone() {
        channels.removeIf(channel -> !channel.isRegistered() || channel.eventLoop() != this);
    }
}
