package io.rdmaraw.tcp.stack;

import io.rdmaraw.tcp.TcpConnection;

/** The channel of a connection, as its transport sees it. All calls come on the loop that the transport is on. */
public interface ConnectionListener {
    /** Something happened to the connection. */
    void transportChanged();

    /** Returns the stack of the loop that the channel is on, null while it is on none. */
    TcpStack loopStack();

    /** Returns how many bytes of the connection may be queued for sending. */
    int sendBufferBytes(TcpConnection connection);

    /** Tells whether a flush may wait for those of the loop's tasks behind it. */
    boolean sharesFlushes();

    /** Applies the channel's options to a connection that is being opened. */
    void applyOptions(TcpConnection connection);
}
