package io.rdmaraw.testsuite.goodput;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.rdmaraw.tcp.CloseReason;
import io.rdmaraw.tcp.TcpConfig;
import io.rdmaraw.tcp.TcpConnection;
import io.rdmaraw.tcp.TcpEngine;
import io.rdmaraw.tcp.TcpEvents;
import io.rdmaraw.tcp.TcpListener;
import java.util.SplittableRandom;

/**
 * One end of a bulk transfer on the TCP core. The connecting end keeps its send queue full; the other end reads
 * and counts.
 */
final class BulkEnd implements TcpEvents {
    private static final int CHUNK_BYTES = 1 << 16;
    private static final int QUEUE_BYTES = 8 << 20;

    final TcpEngine engine;
    private final ByteBuf chunk;
    /** Payload bytes received. */
    long bytesIn;

    /** @param chunk {@value #CHUNK_BYTES} bytes that are sent repeatedly; the caller releases the buffer */
    BulkEnd(TcpConfig config, long seed, ByteBuf chunk, long nowNanos) {
        engine = new TcpEngine(config, this, new SplittableRandom(seed), nowNanos);
        this.chunk = chunk;
    }

    static ByteBuf newChunk(boolean direct) {
        return (direct ? Unpooled.directBuffer(CHUNK_BYTES) : Unpooled.buffer(CHUNK_BYTES)).writeZero(CHUNK_BYTES);
    }

    @Override
    public void connected(TcpConnection connection) {
        fill(connection);
    }

    private void fill(TcpConnection connection) {
        while (connection.queuedBytes() < QUEUE_BYTES) {
            connection.send(chunk.retain());
        }
    }

    @Override
    public void accepted(TcpListener listener, TcpConnection connection) {
        // The connecting end sends.
    }

    @Override
    public void data(TcpConnection connection, ByteBuf buffer, int index, int length) {
        bytesIn += length;
        connection.reportRead(length);
    }

    @Override
    public void peerFinished(TcpConnection connection) {
        connection.close();
    }

    @Override
    public void acked(TcpConnection connection, int bytes) {
        fill(connection);
    }

    @Override
    public void closed(TcpConnection connection, CloseReason reason) {
        if (reason != CloseReason.ABORTED) {
            throw new IllegalStateException("a transfer ended with " + reason);
        }
    }
}
