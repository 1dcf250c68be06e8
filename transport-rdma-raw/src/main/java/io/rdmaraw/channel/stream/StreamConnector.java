package io.rdmaraw.channel.stream;

import io.netty.channel.Channel;
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

/**
 * The connection attempts of a channel, at most one at a time: promise, timeout and cancellation. Used on the loop's
 * thread only.
 */
public final class StreamConnector {
    private final Channel channel;
    private ChannelPromise promise;
    private InetSocketAddress remote;
    private int timeoutMillis;
    private long beginNanos;
    private Future<?> timeout;

    public StreamConnector(Channel channel) {
        this.channel = channel;
    }

    /**
     * Starts an attempt.
     *
     * @throws ConnectionPendingException if another attempt is pending
     * @throws AlreadyConnectedException if the channel is connected
     */
    public void begin(InetSocketAddress target, ChannelPromise connectPromise) {
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
            closeChannel();
        } else {
            // The channel has moved to another loop. If that loop has ended, it has closed the channel.
            LoopTasks.executeOrElse(loop, this::cancelled, () -> { });
        }
    }

    private void closeChannel() {
        channel.unsafe().close(channel.voidPromise());
    }

    /** Schedules the rest of the timeout on the channel's loop. Called when an attempt begins and after each move. */
    public void joinLoop() {
        if (promise != null && timeoutMillis > 0) {
            long remainingNanos = TimeUnit.MILLISECONDS.toNanos(timeoutMillis) - (System.nanoTime() - beginNanos);
            timeout = channel.eventLoop().schedule(this::timedOut, Math.max(0, remainingNanos), TimeUnit.NANOSECONDS);
        }
    }

    /** Cancels the timeout on the loop that the channel leaves. */
    public void leaveLoop() {
        stopTimeout();
    }

    private void stopTimeout() {
        if (timeout != null) {
            timeout.cancel(false);
            timeout = null;
        }
    }

    /**
     * Returns the remote address of the last attempt as passed to connect, including its host name, like Netty's other
     * transports. Returns null for a wildcard address: it stands for this host and is not the address of the peer.
     */
    public InetSocketAddress peer() {
        return remote.getAddress().isAnyLocalAddress() ? null : remote;
    }

    private void timedOut() {
        ChannelPromise pending = promise;
        if (pending != null && pending.tryFailure(new ConnectTimeoutException("connection timed out after "
                + timeoutMillis + " ms: " + remote))) {
            end();
            closeChannel();
        }
    }

    public void succeed() {
        ChannelPromise pending = end();
        if (pending == null) {
            return;
        }
        // Read before the promise completes, because a listener may close the channel.
        boolean active = channel.isActive();
        boolean notified = pending.trySuccess();
        if (active) {
            channel.pipeline().fireChannelActive();
        }
        if (!notified) {
            // The promise was cancelled, and the cancellation has not been handled yet.
            closeChannel();
        }
    }

    public void fail(IOException cause) {
        InetSocketAddress target = remote;
        ChannelPromise pending = end();
        if (pending != null) {
            pending.tryFailure(StreamErrors.withAddress(cause, target));
            closeChannel();
        }
    }

    /** Fails the attempt because the channel closes. */
    public void close() {
        ChannelPromise pending = end();
        if (pending != null) {
            pending.tryFailure(new ClosedChannelException());
        }
    }

    /** Ends the attempt. Returns its promise, which the caller completes; null if there is no attempt. */
    public ChannelPromise end() {
        ChannelPromise pending = promise;
        promise = null;
        stopTimeout();
        return pending;
    }
}
