package io.rdmaraw.channel;

import io.netty.channel.ChannelPromise;
import io.netty.channel.ConnectTimeoutException;
import io.netty.channel.EventLoop;
import io.netty.util.concurrent.Future;
import io.rdmaraw.loop.LoopTasks;
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
    private int timeoutMillis;
    private long beginNanos;
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
        timeoutMillis = channel.config().getConnectTimeoutMillis();
        beginNanos = System.nanoTime();
        joinLoop();
        connectPromise.addListener(future -> {
            if (future.isCancelled()) {
                cancelled();
            }
        });
    }

    private void cancelled() {
        EventLoop loop = channel.eventLoop();
        if (loop.inEventLoop()) {
            end();
            closing.run();
        } else {
            // The channel has moved since its loop was to be told. A loop that ends closes the channel.
            LoopTasks.executeOrElse(loop, this::cancelled, () -> { });
        }
    }

    /** The channel is on a loop: an attempt that is under way times out there. */
    void joinLoop() {
        if (promise != null && timeoutMillis > 0) {
            long leftNanos = TimeUnit.MILLISECONDS.toNanos(timeoutMillis) - (System.nanoTime() - beginNanos);
            timeout = channel.eventLoop().schedule(this::timedOut, Math.max(0, leftNanos), TimeUnit.NANOSECONDS);
        }
    }

    /** The channel leaves its loop, where nothing of it may be touched from now on. */
    void leaveLoop() {
        stopTimeout();
    }

    private void stopTimeout() {
        if (timeout != null) {
            timeout.cancel(false);
            timeout = null;
        }
    }

    /**
     * Returns the address as it was asked for, with the name that its user gave it, as Netty's other transports tell
     * it; or null where that is no peer's, but stands for this host.
     */
    InetSocketAddress peer() {
        return remote.getAddress().isAnyLocalAddress() ? null : remote;
    }

    private void timedOut() {
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
        stopTimeout();
        return pending;
    }
}
