package io.rdmaraw.channel;

import io.netty.channel.ChannelPromise;
import io.netty.channel.ConnectTimeoutException;
import io.netty.util.concurrent.Future;

import java.io.IOException;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.nio.channels.AlreadyConnectedException;
import java.nio.channels.ConnectionPendingException;
import java.util.concurrent.TimeUnit;

/** A connection attempt of a channel: its promise, its timeout and its cancelling. For the loop's thread. */
final class StreamConnector {
    private final RdmaRawSocketChannel channel;
    private final Runnable close;
    private ChannelPromise promise;
    private InetSocketAddress remote;
    private Future<?> timeout;

    StreamConnector(RdmaRawSocketChannel channel, Runnable close) {
        this.channel = channel;
        this.close = close;
    }

    /** Notes that an attempt begins. */
    void begin(InetSocketAddress target, ChannelPromise connectPromise) {
        if (promise != null) {
            throw new ConnectionPendingException();
        }
        if (channel.isActive()) {
            throw new AlreadyConnectedException();
        }
        promise = connectPromise;
        remote = target;
        int timeoutMillis = channel.config().getConnectTimeoutMillis();
        if (timeoutMillis > 0) {
            timeout = channel.eventLoop().schedule(() -> timedOut(timeoutMillis), timeoutMillis,
                    TimeUnit.MILLISECONDS);
        }
        connectPromise.addListener(future -> {
            if (future.isCancelled()) {
                end();
                close.run();
            }
        });
    }

    private void timedOut(int timeoutMillis) {
        ChannelPromise pending = promise;
        if (pending != null && pending.tryFailure(new ConnectTimeoutException("connection timed out after "
                + timeoutMillis + " ms: " + remote))) {
            end();
            close.run();
        }
    }

    void succeed() {
        ChannelPromise pending = end();
        if (pending == null) {
            return;
        }
        boolean told = pending.trySuccess();
        if (channel.isActive()) {
            channel.pipeline().fireChannelActive();
        }
        if (!told) {
            // Cancelled, and the cancelling has not been seen yet.
            close.run();
        }
    }

    void fail(IOException cause) {
        InetSocketAddress target = remote;
        ChannelPromise pending = end();
        if (pending != null) {
            pending.tryFailure(StreamErrors.withAddress(cause, target));
            close.run();
        }
    }

    /** Forgets the attempt; the promise is told by whoever ends it. */
    void cancel() {
        ChannelPromise pending = end();
        if (pending != null && !pending.isDone()) {
            pending.tryFailure(new java.nio.channels.ClosedChannelException());
        }
    }

    private ChannelPromise end() {
        ChannelPromise pending = promise;
        promise = null;
        if (timeout != null) {
            timeout.cancel(false);
            timeout = null;
        }
        return pending;
    }
}
