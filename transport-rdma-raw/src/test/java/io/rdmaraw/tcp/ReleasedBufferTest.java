package io.rdmaraw.tcp;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.rdmaraw.tcp.segment.Segment;
import org.junit.jupiter.api.Test;

import java.util.concurrent.TimeUnit;

/**
 * If a user releases a written buffer too often, its connection fails, but other connections of the engine
 * continue.
 */
class ReleasedBufferTest {
    private static final int LENGTH_BYTES = 200_000;

    private final TwoEnds ends = new TwoEnds(TcpConfig.builder().build(), TcpConfig.builder().build(), 1);

    private TcpConnection connected() {
        TcpConnection connection = ends.connect();
        ends.run(TimeUnit.SECONDS.toNanos(1));
        return connection;
    }

    @Test
    void releaseBeforeTransmissionEndsConnection() {
        TcpConnection wrong = connected();
        TcpConnection right = connected();
        ByteBuf released = Unpooled.buffer(LENGTH_BYTES).writeZero(LENGTH_BYTES);
        wrong.send(released);
        released.release();
        byte[] bytes = new byte[LENGTH_BYTES];
        right.send(ends.buffer(bytes));
        ends.run(TimeUnit.SECONDS.toNanos(10));
        assertArrayEquals(bytes, ends.serverEvents.received.toByteArray());
        assertTrue(ends.clientEvents.events.contains("closed WRITTEN_BUFFER_RELEASED"),
                ends.clientEvents.events.toString());
        assertTrue(ends.serverEvents.events.contains("closed RESET_BY_PEER"), ends.serverEvents.events.toString());
        assertEquals(1, ends.client.counters().buffersReleasedEarly);
        right.close();
        ends.assertNothingHeld();
    }

    /** The device already has the bytes, so the peer receives them. */
    @Test
    void releaseAfterTransmissionIsTolerated() {
        TcpConnection wrong = connected();
        ByteBuf released = Unpooled.buffer(100).writeZero(100);
        wrong.send(released);
        Segment segment = new Segment();
        assertTrue(ends.client.pollSegment(ends.now, segment));
        segment.retainPayload();
        released.release(2);
        ends.server.onSegment(segment.payload(Unpooled.buffer(100).writeZero(100), 0, 100), ends.now);
        ends.run(TimeUnit.SECONDS.toNanos(1));
        wrong.send(ends.buffer(new byte[50]));
        ends.run(TimeUnit.SECONDS.toNanos(1));
        assertEquals(150, ends.serverEvents.received.size());
        ends.assertNothingHeld();
    }
}
