package io.rdmaraw.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.ffi.NetworkOrder;
import io.rdmaraw.tcp.segment.Segment;
import io.rdmaraw.tcp.segment.TcpFlags;
import io.rdmaraw.tcp.segment.TcpHeaderCodec;
import java.lang.foreign.Arena;
import java.util.function.LongConsumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests which frames continue a run, and that every header bit is compared unless it may differ. */
class GroAggregatorTest {
    private static final int PAYLOAD_BYTES = 1000;
    private static final int FRAME_BYTES = 2048;
    private static final int SEQUENCE = 0xFFFF_FF00;

    private final Arena arena = Arena.ofConfined();
    private final long first = arena.allocate(FRAME_BYTES, 8).address();
    private final long next = arena.allocate(FRAME_BYTES, 8).address();
    private final FrameParser parser = new FrameParser(new ParseCounters());
    private final ParsedFrame parsed = new ParsedFrame();
    private final GroAggregator run = new GroAggregator();

    @AfterEach
    void close() {
        arena.close();
    }

    private static int write(long address, boolean ipv4, int seq, int flags, int payloadBytes, int tsValue) {
        Segment s = new Segment();
        s.source(ipv4 ? 0 : 0x20010db8_00000000L, ipv4 ? 0xFFFF_C000_0201L : 1, 80);
        s.destination(ipv4 ? 0 : 0x20010db8_00000000L, ipv4 ? 0xFFFF_C000_0202L : 2, 4000);
        s.seq = seq;
        s.ack = 5;
        s.flags = flags;
        s.window = 100;
        s.timestamps(tsValue, 7);
        s.payloadLength = payloadBytes;
        EthernetHeader.write(address, 0x0200_0000_0001L, 0x0200_0000_0002L, ipv4 ? EtherType.IPV4 : EtherType.IPV6);
        return EthernetHeader.LENGTH_BYTES + TcpHeaderCodec.write(s, address + EthernetHeader.LENGTH_BYTES, 0)
                + payloadBytes;
    }

    private boolean begin(boolean ipv4, int flags, int payloadBytes, int padding) {
        int length = write(first, ipv4, SEQUENCE, flags, payloadBytes, 9);
        assertEquals(ParseVerdict.TCP, parser.parse(first, length + padding, true, parsed));
        return run.begin(parsed);
    }

    private int take(boolean ipv4, int seq, int flags, int payloadBytes) {
        int length = write(next, ipv4, seq, flags, payloadBytes, 9);
        return parser.parseContinuation(run, next, length);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void consecutiveSegmentsFormARun(boolean ipv4) {
        assertTrue(begin(ipv4, TcpFlags.ACK, PAYLOAD_BYTES, 0));
        assertEquals(PAYLOAD_BYTES, run.segmentBytes());
        assertEquals(parsed.payloadOffset(), run.headerBytes());
        assertEquals(PAYLOAD_BYTES, take(ipv4, SEQUENCE + PAYLOAD_BYTES, TcpFlags.ACK, PAYLOAD_BYTES));
        assertFalse(run.hasPush());
        assertEquals(300, take(ipv4, SEQUENCE + 2 * PAYLOAD_BYTES, TcpFlags.ACK | TcpFlags.PSH, 300));
        assertTrue(run.hasPush());
        assertEquals(0, take(ipv4, SEQUENCE + 2 * PAYLOAD_BYTES + 300, TcpFlags.ACK, PAYLOAD_BYTES), "behind the end");
        assertEquals(3, parser.counters().get(ParseVerdict.TCP));
    }

    @Test
    void shortSegmentOrPushEndsRun() {
        begin(true, TcpFlags.ACK, PAYLOAD_BYTES, 0);
        assertEquals(999, take(true, SEQUENCE + PAYLOAD_BYTES, TcpFlags.ACK, 999));
        assertEquals(0, take(true, SEQUENCE + PAYLOAD_BYTES + 999, TcpFlags.ACK, 999));
        begin(true, TcpFlags.ACK, PAYLOAD_BYTES, 0);
        assertEquals(PAYLOAD_BYTES, take(true, SEQUENCE + PAYLOAD_BYTES, TcpFlags.ACK | TcpFlags.PSH, PAYLOAD_BYTES));
        assertEquals(0, take(true, SEQUENCE + 2 * PAYLOAD_BYTES, TcpFlags.ACK, PAYLOAD_BYTES));
    }

    @Test
    void segmentWithOtherFlagsStartsNoRun() {
        assertFalse(begin(true, TcpFlags.ACK | TcpFlags.PSH, PAYLOAD_BYTES, 0));
        assertFalse(begin(true, TcpFlags.ACK | TcpFlags.FIN, PAYLOAD_BYTES, 0));
        assertFalse(begin(true, TcpFlags.ACK | TcpFlags.ECE, PAYLOAD_BYTES, 0));
        assertFalse(begin(true, TcpFlags.ACK, 0, 0));
        assertFalse(begin(true, TcpFlags.ACK, 5, 1), "padding");
    }

    @Test
    void longerSegmentOrOtherNumberDoesNotContinueRun() {
        begin(true, TcpFlags.ACK, PAYLOAD_BYTES, 0);
        assertEquals(0, take(true, SEQUENCE + PAYLOAD_BYTES, TcpFlags.ACK, PAYLOAD_BYTES + 1));
        assertEquals(0, take(true, SEQUENCE + PAYLOAD_BYTES + 1, TcpFlags.ACK, PAYLOAD_BYTES));
        assertEquals(0, take(true, SEQUENCE, TcpFlags.ACK, PAYLOAD_BYTES));
        assertEquals(0, take(true, SEQUENCE + PAYLOAD_BYTES, TcpFlags.ACK, 0));
        assertEquals(0, take(true, SEQUENCE + PAYLOAD_BYTES, TcpFlags.ACK | TcpFlags.FIN, PAYLOAD_BYTES));
        int length = write(next, true, SEQUENCE + PAYLOAD_BYTES, TcpFlags.ACK, PAYLOAD_BYTES, 9);
        assertEquals(0, parser.parseContinuation(run, next, length - 1), "shorter than it says");
        assertEquals(0, parser.parseContinuation(run, next, 20));
        assertEquals(PAYLOAD_BYTES, parser.parseContinuation(run, next, length));
    }

    /**
     * A change of any header bit ends the run, except for bits that may differ and those that the device has
     * verified.
     */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void everyOtherBitIsCompared(boolean ipv4) {
        begin(ipv4, TcpFlags.ACK, PAYLOAD_BYTES, 0);
        int tcp = ipv4 ? 34 : 54;
        for (int offset = 0; offset < run.headerBytes(); offset++) {
            boolean free = ipv4 && (offset == 18 || offset == 19 || offset == 24 || offset == 25)
                    || offset == tcp + 16 || offset == tcp + 17;
            for (int bit = 0; bit < 8; bit++) {
                int at = offset;
                int mask = 1 << bit;
                boolean follows = free || at == tcp + 13 && mask == TcpFlags.PSH;
                assertEquals(follows ? PAYLOAD_BYTES : 0,
                        testAndClearChanged(ipv4, address -> NativeMemory.putByte(address + at,
                                (byte) (NetworkOrder.getU8(address + at) ^ mask))),
                        "byte " + at + ", bit " + bit);
            }
        }
    }

    private int testAndClearChanged(boolean ipv4, LongConsumer change) {
        begin(ipv4, TcpFlags.ACK, PAYLOAD_BYTES, 0);
        int length = write(next, ipv4, SEQUENCE + PAYLOAD_BYTES, TcpFlags.ACK, PAYLOAD_BYTES, 9);
        change.accept(next);
        return parser.parseContinuation(run, next, length);
    }

    /** The masks are reused for runs with the same header length. */
    @Test
    void runsWithDifferentHeadersAreRecognized() {
        begin(false, TcpFlags.ACK, PAYLOAD_BYTES, 0);
        assertEquals(PAYLOAD_BYTES, take(false, SEQUENCE + PAYLOAD_BYTES, TcpFlags.ACK, PAYLOAD_BYTES));
        begin(true, TcpFlags.ACK, PAYLOAD_BYTES, 0);
        assertEquals(PAYLOAD_BYTES, take(true, SEQUENCE + PAYLOAD_BYTES, TcpFlags.ACK, PAYLOAD_BYTES));
        assertEquals(0, take(false, SEQUENCE + 2 * PAYLOAD_BYTES, TcpFlags.ACK, PAYLOAD_BYTES));
    }
}
