package io.rdmaraw.microbench.tcpcore;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.rdmaraw.tcp.segment.Segment;
import io.rdmaraw.tcp.segment.TcpFlags;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class TcpCoreBenchTest {
    private static final int CONNECTIONS = 20_000;
    private static final long MINUTE = TimeUnit.MINUTES.toNanos(1);

    @Test
    void everyConnectionGetsItsTurn() {
        try (TcpPair pair = new TcpPair(100)) {
            long handshakes = pair.segments();
            pair.begin();
            while (pair.completed() < 1_000) {
                assertTrue(pair.turn() > 0, "halted after " + pair.completed());
            }
            // A request and its answer are one segment each, because the answer also acknowledges the request.
            long perRequest = (pair.segments() - handshakes) / pair.completed();
            assertEquals(2, perRequest);
        }
    }

    @Test
    void aSegmentComesOutAsItWentIn() {
        ByteBuf memory = Unpooled.directBuffer(2048);
        ByteBuf payload = Unpooled.directBuffer().writeLong(0x0102_0304_0506_0708L);
        Segment written = new Segment().source(0, TcpPackets.mapped(0x0A00_0001), 1234)
                .destination(0, TcpPackets.mapped(0xC0A8_0001), 80).seq(-2).ack(5).flags(TcpFlags.ACK).window(777)
                .mss(1460).windowScale(7).sackPermitted(true).timestamps(11, 12).addSack(20, 30).ecn(2).dscp(46)
                .payload(payload, 0, 8);
        int length = TcpPackets.write(written, memory.memoryAddress());
        Segment read = new Segment();
        TcpPackets packets = new TcpPackets();
        packets.read(memory, memory.memoryAddress(), 0, length, read);
        assertEquals(written.toString(), read.toString());
        assertEquals(46, read.dscp);
        assertEquals(payload.getLong(0), memory.getLong(read.sliceIndex(0)));

        memory.setByte(length - 1, memory.getByte(length - 1) ^ 1);
        assertThrows(IllegalStateException.class,
                () -> packets.read(memory, memory.memoryAddress(), 0, length, read));
        memory.release();
        payload.release();
    }

    /** The limit is the figure in docs/design/tcp.md. This test uses fewer connections. */
    @Test
    void anIdleConnectionTakesLessThan700BytesOfHeap() {
        long before = IdleServer.liveHeapBytes();
        try (IdleServer server = new IdleServer(CONNECTIONS, 0, 0)) {
            double each = (double) (IdleServer.liveHeapBytes() - before) / server.connections();
            assertTrue(each > 100 && each <= 700, each + " bytes");
        }
    }

    @Test
    void eachIdleConnectionIsProbedOnceAMinute() {
        try (IdleServer server = new IdleServer(CONNECTIONS, MINUTE, MINUTE)) {
            server.coreShare(MINUTE, CONNECTIONS / 10 * 9);
            assertThrows(IllegalStateException.class, () -> server.coreShare(MINUTE, CONNECTIONS + CONNECTIONS / 10));
            assertEquals(CONNECTIONS, server.connections());
        }
    }
}
