package io.rdmaraw.tcp.stack;

import io.netty.channel.ChannelId;
import io.rdmaraw.tcp.TcpConnection;

/** The channel of a connection, as seen by its transport. All methods are called on the transport's loop. */
public interface ConnectionOwner {
    /** Reports that the state of the connection has changed or that data has arrived. */
    void transportChanged();

    /** Returns the ID of the channel. */
    ChannelId channelId();

    /** Returns the stack of the loop that the channel is registered with; null if it is not registered. */
    TcpStack tcpStack();

    /** Returns the size of the connection's send buffer in bytes. */
    int sendBufferBytes(TcpConnection connection);

    /** Returns whether a flush may be deferred until the loop has run its queued tasks, to share their doorbell. */
    boolean consolidatesFlushes();

    /** Applies the channel's options to a connection that is being opened. */
    void applyOptions(TcpConnection connection);
}
