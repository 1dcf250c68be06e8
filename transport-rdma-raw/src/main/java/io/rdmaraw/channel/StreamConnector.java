package io.rdmaraw.channel;

import io.netty.channel.ChannelPromise;
import io.netty.channel.ConnectTimeoutException;
import io.netty.util.concurrent.Future;
import io.rdmaraw.tcp.stack.StreamErrors;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.channels.AlreadyConnectedException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.ConnectionPendingException;
import java.util.concurrent.TimeUnit;

/** A connection attempt of a channel: its promise, timeout and cancellation. For the loop's thread. */
final class StreamConnector {
    private final RdmaRawSocketChannel channel;
    private final Runnable closing;
    private ChannelPromise promise;
    private InetSocketAddress remote;
    private Future<?> timeout;

    StreamConnector(RdmaRawSocketChannel channel, Runnable close) {
        this.channel = channel;
        closing = close;
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
                closing.run();
            }
        });
    }

    /**
     * Returns the address as it was asked for, with the name that its user gave it, as Netty's other transports tell
     * it; or null where that is no peer's, but stands for this host.
     */
    InetSocketAddress peer() {
        return remote.getAddress().isAnyLocalAddress() ? null : remote;
    }

    private void timedOut(int timeoutMillis) {
        ChannelPromise pending = promise;
        if (pending != null && pending.tryFailure(new ConnectTimeoutException("connection timed out after "
                + timeoutMillis + " ms: " + remote))) {
            end();
            closing.run();
        }
    }

    void succeed() {
        ChannelPromise pending = end();
        if (pending == null) {
            return;
        }
        // Asked before the promise is told: a listener may close the channel.
        boolean active = channel.isActive();
        boolean told = pending.trySuccess();
        if (active) {
            channel.pipeline().fireChannelActive();
        }
        if (!told) {
            // Cancelled, and the cancelling has not been seen yet.
            closing.run();
        }
    }

    void fail(IOException cause) {
        InetSocketAddress target = remote;
        ChannelPromise pending = end();
        if (pending != null) {
            pending.tryFailure(StreamErrors.withAddress(cause, target));
            closing.run();
        }
    }

    /** The channel closes. */
    void close() {
        ChannelPromise pending = end();
        if (pending != null) {
            pending.tryFailure(new ClosedChannelException());
        }
    }

    /** Forgets the attempt; returns its promise, which the caller tells. */
    ChannelPromise end() {
        ChannelPromise pending = promise;
        promise = null;
        if (timeout != null) {
            timeout.cancel(false);
            timeout = null;
        }
        return pending;
    }
}
