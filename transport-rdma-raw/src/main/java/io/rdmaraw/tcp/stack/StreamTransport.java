package io.rdmaraw.tcp.stack;

import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.EventLoop;
import io.netty.util.concurrent.Promise;
import io.rdmaraw.metrics.RdmaRawTcpInfo;
import io.rdmaraw.tcp.TcpConnection;
import io.rdmaraw.tcp.stack.receive.StreamReceiveQueue;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.function.Consumer;

/**
 * The engine that carries the bytes of a socket channel: this project's TCP or a kernel socket. It notifies the channel
 * by {@link ConnectionOwner#transportChanged()}. Used on the thread of the transport's loop, unless a method says
 * otherwise.
 */
public interface StreamTransport {
    /**
     * Attaches the channel, which has been registered with this loop. The transport moves to the same loop. Called on
     * that loop.
     */
    void attach(ConnectionOwner channel, TcpStack stack);

    /** Detaches the channel, which leaves its loop. Data that arrives later is kept for the next {@link #attach}. */
    void detach();

    /** Returns whether the channel is attached, so that both are on the same loop. Called on that loop. */
    boolean isAttached();

    /** Returns the loop that owns the transport. May be called on any thread. */
    EventLoop loop();

    boolean isConnected();

    /** Returns whether {@link ConnectionOwner#transportChanged()} will be called in the loop's next turn. */
    boolean isQueuedForDelivery();

    /** Returns the local address; may be null before the connection is open. */
    InetSocketAddress localAddress();

    InetSocketAddress remoteAddress();

    /** Returns whether the connection has ended. */
    boolean isClosed();

    /** Returns the exception for a connection attempt that failed. Call it only if {@link #isClosed()}. */
    IOException connectFailure();

    /** Returns the exception for the end of an open connection; null if it is still open or was closed normally. */
    IOException failure();

    /** Returns the received data that has not been read. The channel may use it only while {@link #isAttached()}. */
    StreamReceiveQueue received();

    /**
     * Returns whether received data is in slots of the device. Otherwise it is in buffers of the allocator that the
     * channel had when the data arrived.
     */
    boolean receivesIntoSlots();

    /** Reports that the channel has read bytes, so that the receive window can open. */
    void reportRead(int bytes);

    /** Returns whether the peer has closed its direction (FIN). */
    boolean isPeerFinished();

    /** Shuts down the input. Data received from now on is dropped. Called on the transport's loop. */
    default void shutdownInput() {
    }

    /**
     * Begins to deliver received data to the channel's handlers. Flushes are deferred until {@link #endReading}, which
     * needs the returned value.
     */
    boolean beginReading();

    /**
     * Ends the delivery of received data.
     *
     * @param wasReading the value returned by {@link #beginReading()}
     */
    void endReading(boolean wasReading);

    /**
     * Sends flushed messages as far as there is room. The channel is notified when there is room again.
     *
     * @param allocator allocates the buffers for data that must be copied
     */
    void write(ChannelOutboundBuffer in, ByteBufAllocator allocator) throws IOException;

    /** Returns true once when there is room again after a write that did not fit. */
    boolean pollSendRoom();

    /** Closes the outbound direction (FIN) after the data written so far. */
    void shutdownOutput();

    /**
     * Applies a changed channel option. May be called on any thread.
     *
     * @param change applies the option to the connection
     * @param ifMoved used instead if the connection has moved in the meantime; a later change may then have been
     *               applied already
     */
    void applyChange(Consumer<TcpConnection> change, Consumer<TcpConnection> ifMoved);

    /** Completes the promise with the state of the connection. May be called on any thread. */
    void info(Promise<RdmaRawTcpInfo> promise);

    /**
     * Reports that the channel has closed. The connection continues without it as long as TCP requires. May be called
     * on any thread.
     *
     * @param reset whether to send a RST to the peer, as with {@code SO_LINGER} 0
     */
    void closeByChannel(boolean reset);

    /**
     * Returns whether the peer has acknowledged all data and the end of the stream, or the connection has ended. Called
     * after {@link #closeByChannel}.
     */
    boolean isDelivered();
}
