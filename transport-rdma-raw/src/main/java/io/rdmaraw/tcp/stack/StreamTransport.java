package io.rdmaraw.tcp.stack;

import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.EventLoop;
import io.netty.util.concurrent.Promise;
import io.rdmaraw.metrics.RdmaRawTcpInfo;
import io.rdmaraw.tcp.TcpConnection;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.function.Consumer;

/**
 * What carries the bytes of a socket channel: this transport's TCP, or the kernel's. It tells the channel that
 * something has happened by {@link ConnectionListener#transportChanged()}. For the thread of the loop that it is on,
 * unless a method says otherwise.
 */
public interface StreamTransport {
    /** The channel is on this loop now: the transport comes there too. Called on that loop. */
    void attach(ConnectionListener channel, TcpStack stack);

    /** The channel leaves its loop; what comes in meanwhile is kept. */
    void detach();

    /** Tells whether the channel and its transport are on the same loop, as the one called on is. */
    boolean isAttached();

    /** Returns the loop that has the transport. Any thread. */
    EventLoop loop();

    boolean isConnected();

    /** Returns our end's address; may be null before the connection is open. */
    InetSocketAddress localAddress();

    InetSocketAddress remoteAddress();

    /** Tells whether the connection is over. */
    boolean isClosed();

    /** Returns why the connection, which is over, could not be opened. */
    IOException connectFailure();

    /** Returns why the open connection ended, null when it goes on or ended in order. */
    IOException failure();

    /** Returns what has come in and was not read. For the channel while {@link #isAttached()}. */
    ReceivedPieces received();

    /**
     * Tells whether what has come in lies in the slots of a device. Otherwise it is in buffers of the allocator that
     * the channel had when it came.
     */
    boolean lendsSlots();

    /** The channel has read bytes: the peer may send as many more. */
    void read(int bytes);

    /** Tells whether the peer sends no more. */
    boolean isPeerFinished();

    /** The channel's handlers are about to get what was received; returns what to pass to {@link #endReading}. */
    boolean beginReading();

    void endReading(boolean outer);

    /**
     * Sends as much of what is flushed as there is room for; the channel is told when there is more.
     *
     * @param allocator for what has to be copied
     */
    void write(ChannelOutboundBuffer in, ByteBufAllocator allocator) throws IOException;

    /** Tells, once, that there is room again after a write that found too little. */
    boolean takeSendRoom();

    /** Ends our direction behind what was written. */
    void shutdownOutput();

    /**
     * One of the channel's settings has changed. Any thread.
     *
     * @param change tells this transport's TCP
     * @param late does so when the connection has moved meanwhile, and later changes may have come before this one
     */
    void settingChanged(Consumer<TcpConnection> change, Consumer<TcpConnection> late);

    /** Tells where the connection stands. Any thread. */
    void info(Promise<RdmaRawTcpInfo> promise);

    /**
     * The channel is closed: the connection goes on without it as long as TCP needs. Any thread.
     *
     * @param reset whether the peer is to get a RST, as {@code SO_LINGER} 0 says
     */
    void closeByChannel(boolean reset);
}
