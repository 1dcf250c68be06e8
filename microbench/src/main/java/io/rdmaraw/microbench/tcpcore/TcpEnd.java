package io.rdmaraw.microbench.tcpcore;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.rdmaraw.tcp.CloseReason;
import io.rdmaraw.tcp.TcpConfig;
import io.rdmaraw.tcp.TcpConnection;
import io.rdmaraw.tcp.TcpEngine;
import io.rdmaraw.tcp.TcpEvents;
import io.rdmaraw.tcp.TcpListener;
import java.security.SecureRandom;

/**
 * One end of a request-response dialogue. It sends a message whenever it has received a complete one. The client sends
 * the first message. A message fits into one segment.
 */
class TcpEnd implements TcpEvents, AutoCloseable {
    static final int MESSAGE_BYTES = 64;
    static final int PORT = 80;

    final TcpEngine engine;
    /** Number of complete messages received. */
    long messagesIn;
    /** Number of open connections. */
    int open;

    private final ByteBuf message;
    private boolean answering = true;

    TcpEnd(TcpConfig config, long nowNanos, int stamp) {
        engine = new TcpEngine(config, this, new SecureRandom(), nowNanos);
        message = Unpooled.directBuffer(MESSAGE_BYTES);
        for (int i = 0; i < MESSAGE_BYTES / Long.BYTES; i++) {
            message.writeLong(stamp * 0x9E37_79B9_7F4A_7C15L + i);
        }
    }

    /** Sends a message, which starts the dialogue on a connection. */
    void begin(TcpConnection connection) {
        connection.send(message.retain());
    }

    /** Stops the dialogue. Received messages are still counted. */
    void stopAnswering() {
        answering = false;
    }

    @Override
    public void connected(TcpConnection connection) {
        open++;
    }

    @Override
    public void accepted(TcpListener listener, TcpConnection connection) {
        open++;
    }

    @Override
    public void data(TcpConnection connection, ByteBuf buffer, int index, int length) {
        if (length != MESSAGE_BYTES) {
            throw new IllegalStateException("a message of " + length + " bytes instead of " + MESSAGE_BYTES);
        }
        connection.reportRead(length);
        messagesIn++;
        if (answering) {
            begin(connection);
        }
    }

    @Override
    public void peerFinished(TcpConnection connection) {
        connection.close();
    }

    @Override
    public void acked(TcpConnection connection, int bytes) {
        // A message always fits into the send buffer, so that nothing waits for free space.
    }

    @Override
    public void closed(TcpConnection connection, CloseReason reason) {
        open--;
    }

    /** Aborts the open connections and frees the memory. */
    @Override
    public void close() {
        engine.shutdown();
        message.release();
    }
}
