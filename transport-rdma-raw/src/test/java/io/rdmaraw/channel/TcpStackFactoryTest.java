package io.rdmaraw.channel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import io.rdmaraw.tcp.CloseReason;
import io.rdmaraw.tcp.TcpConnection;
import io.rdmaraw.tcp.TcpEngine;
import io.rdmaraw.tcp.TcpEvents;
import io.rdmaraw.tcp.TcpListener;
import io.rdmaraw.tcp.segment.Segment;

import org.junit.jupiter.api.Test;

import java.security.SecureRandom;

class TcpStackFactoryTest {
    private static final long NOW = 1_000_000_000L;
    private static final long HERE = 0xFFFF_0A00_0001L;
    private static final long THERE = 0xFFFF_0A00_0002L;

    private static final TcpEvents NOBODY = new TcpEvents() {
        @Override
        public void connected(TcpConnection connection) {
        }

        @Override
        public void accepted(TcpListener listener, TcpConnection connection) {
        }

        @Override
        public void data(TcpConnection connection, ByteBuf buffer, int index, int length) {
        }

        @Override
        public void peerFinished(TcpConnection connection) {
        }

        @Override
        public void acked(TcpConnection connection, int bytes) {
        }

        @Override
        public void closed(TcpConnection connection, CloseReason reason) {
        }
    };

    private static Segment synOf(RdmaRawIoHandlerConfig config) {
        TcpEngine engine = new TcpEngine(config.tcpConfig(1500, 4, 0), NOBODY, new SecureRandom(), NOW);
        engine.connect(NOW, 0, HERE, 4000, 0, THERE, 80, null, 0, null);
        Segment syn = new Segment();
        assertTrue(engine.pollSegment(NOW, syn));
        return syn;
    }

    /**
     * A channel may migrate between loops, even of different groups, so sequence numbers and timestamps must have one
     * clock.
     */
    @Test
    void allLoopsOfAProcessHaveOneClock() {
        Segment first = synOf(RdmaRawIoHandlerConfig.builder().build());
        Segment second = synOf(RdmaRawIoHandlerConfig.builder().build());
        assertEquals(first.seq, second.seq);
        assertEquals(first.tsValue, second.tsValue);
    }
}
