package io.rdmaraw.tcp;

import static io.rdmaraw.tcp.Dialogue.established;
import static io.rdmaraw.tcp.Dialogue.plain;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.netty.buffer.Unpooled;
import io.rdmaraw.tcp.segment.Segment;
import io.rdmaraw.tcp.segment.TcpFlags;
import org.junit.jupiter.api.Test;

/** Segments that the device cuts into several (TSO). The MSS is 1000. */
class SegmentationTest {
    @Test
    void fullSegmentsAreSentTogetherBeforeTheRest() {
        Dialogue d = established(plain().segmentationBytes(65_400)).send(4500);
        d.says("PA 1 len 4000 ack 1", "PA 4001 len 500 ack 1");
        assertEquals(7, d.engine.counters().segmentsOut);
        d.hears("A 1 ack 4501");
        d.assertReleased();
    }

    @Test
    void segmentReportsItsSegmentSize() {
        Dialogue d = established(plain().segmentationBytes(65_400)).send(0);
        d.c.send(Unpooled.wrappedBuffer(new byte[3000]));
        d.c.shutdownOutput();
        Segment out = new Segment();
        d.engine.pollSegment(d.now, out);
        assertEquals(3000, out.payloadLength());
        assertEquals(1000, out.segmentSizeBytes());
        assertEquals(3, out.segmentCount());
        assertEquals(TcpFlags.ACK | TcpFlags.PSH | TcpFlags.FIN, out.flags);
        out.releasePayload();
        assertEquals(0, out.segmentSizeBytes());
        assertEquals(1, out.segmentCount());
    }

    @Test
    void offloadIsLimitedByWindowsAndDevice() {
        Dialogue d = established(plain().segmentationBytes(3500)).send(20_000);
        d.says("PA 1 len 3000 ack 1", "PA 3001 len 3000 ack 1", "PA 6001 len 3000 ack 1", "A 9001 len 1000 ack 1");
        d.hears("A 1 ack 10001 win 2500").says("PA 10001 len 2000 ack 1");
    }

    @Test
    void piecesAreRetransmittedIndividually() {
        Dialogue d = established(plain().segmentationBytes(65_400)).send(8000);
        d.says("PA 1 len 8000 ack 1");
        d.after(10).hears("A 1 ack 1001 sack 2001-8001");
        d.says("A 1001 len 1000 ack 1");
        d.after(10).hears("A 1 ack 8001");
        d.assertReleased();
    }

    @Test
    void firstSegmentAfterReductionIsNotOffloaded() {
        // A device may not know that only the first segment may carry CWR (RFC 3168 section 6.1.2).
        Dialogue d = established(plain().ecn(TcpConfig.EcnMode.ACTIVE).segmentationBytes(65_400),
                "SEA 0 ack 1 win 65535 mss 1000 ws 0 sackOK").send(30_000);
        d.says("PA 1 len 10000 ack 1 ect");
        d.after(10).hears("EA 1 ack 9001");
        d.says("AC 10001 len 1000 ack 1 ect", "PA 11001 len 5000 ack 1 ect");
    }

    @Test
    void offloadBeyondPacketSizeIsRejected() {
        assertThrows(IllegalArgumentException.class, () -> TcpConfig.builder().segmentationBytes(65_401));
    }
}
