package io.rdmaraw.net;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.rdmaraw.wire.BufferAddress;
import io.rdmaraw.wire.EtherType;
import io.rdmaraw.wire.EthernetHeader;
import io.rdmaraw.wire.FrameParser;
import io.rdmaraw.wire.InternetChecksum;
import io.rdmaraw.wire.IpProtocol;
import io.rdmaraw.wire.Ipv4Header;
import io.rdmaraw.wire.ParseCounters;
import io.rdmaraw.wire.ParseVerdict;
import io.rdmaraw.wire.ParsedFrame;
import io.rdmaraw.wire.UdpHeader;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

class PacketReassemblyTest {
    private static final int SOURCE = 0x0a000001;
    private static final int DESTINATION = 0x0a000002;

    private static final int HEADERS_BYTES = 34;

    private final UnpooledByteBufAllocator allocator = new UnpooledByteBufAllocator(true);
    private final PacketReassembly.Counters statistics = new PacketReassembly.Counters();
    private final List<ByteBuf> expired = new ArrayList<>();
    private PacketReassembly fragments = reassembly(ReassemblyLimits.DEFAULT);
    private final FrameParser parser = new FrameParser(new ParseCounters());
    private final ParsedFrame parsed = new ParsedFrame();
    private ParseVerdict verdict;
    private long nowNanos;

    @AfterEach
    void close() {
        fragments.close();
        expired.forEach(ByteBuf::release);
        assertEquals(0, allocator.metric().usedDirectMemory(), "all memory is given back");
    }

    /** Creates a UDP datagram with a checksum. The payload is derived from the seed. */
    private static ByteBuf datagram(int payloadBytes, int seed) {
        ByteBuf udp = Unpooled.directBuffer(8 + payloadBytes).writeZero(8);
        byte[] payload = new byte[payloadBytes];
        new Random(seed).nextBytes(payload);
        udp.writeBytes(payload);
        long address = BufferAddress.of(udp);
        UdpHeader.write(address, 1000, 2000, udp.readableBytes());
        long pseudo = InternetChecksum.pseudoHeaderIpv4(SOURCE, DESTINATION, IpProtocol.UDP, udp.readableBytes());
        UdpHeader.setChecksum(address, InternetChecksum.finish(
                InternetChecksum.sum(address, udp.readableBytes(), pseudo)));
        return udp;
    }

    private PacketReassembly reassembly(ReassemblyLimits limits) {
        return new PacketReassembly(allocator, limits, statistics, expired::add);
    }

    private ByteBuf add(ByteBuf udp, int from, int end, int identification) {
        return add(SOURCE, 0, udp, from, end, identification);
    }

    private ByteBuf add(int source, int ecn, ByteBuf udp, int from, int end, int identification) {
        ByteBuf frame = Unpooled.directBuffer(14 + 20 + end - from).writeZero(34).writeBytes(udp, from, end - from);
        long address = BufferAddress.of(frame);
        EthernetHeader.write(address, 0x0200_0000_0002L, 0x0200_0000_0001L, EtherType.IPV4);
        int more = end < udp.readableBytes() ? Ipv4Header.MORE_FRAGMENTS : 0;
        Ipv4Header.write(address + 14, ecn, 20 + end - from, identification, more | from / 8, 64, IpProtocol.UDP,
                source, DESTINATION);
        assertEquals(ParseVerdict.FRAGMENT, parser.parse(address, frame.readableBytes(), false, parsed));
        ByteBuf complete = fragments.add(parsed, nowNanos);
        frame.release();
        return complete == null ? null : packet(complete);
    }

    /** Parses a reassembled frame and returns the payload of the IP packet. */
    private ByteBuf packet(ByteBuf frame) {
        verdict = parser.parse(BufferAddress.of(frame), frame.readableBytes(), false, parsed);
        return frame.skipBytes(HEADERS_BYTES);
    }

    private static void assertSame(ByteBuf expected, ByteBuf actual) {
        assertNotNull(actual);
        assertEquals(expected, actual);
        actual.release();
        expected.release();
    }

    @Test
    void fragmentsMayArriveInAnyOrder() {
        for (int seed = 0; seed < 50; seed++) {
            ByteBuf udp = datagram(500 + seed * 37, seed);
            int step = 8 * (1 + seed % 20);
            List<Integer> starts = new ArrayList<>();
            for (int from = 0; from < udp.readableBytes(); from += step) {
                starts.add(from);
            }
            Collections.shuffle(starts, new Random(seed));
            ByteBuf complete = null;
            for (int from : starts) {
                assertNull(complete);
                complete = add(udp, from, Math.min(from + step, udp.readableBytes()), seed);
            }
            assertSame(udp, complete);
        }
        assertEquals(50, statistics.reassembled);
        assertEquals(0, statistics.dropped);
    }

    @Test
    void interleavedDatagramsAreKeptApart() {
        ByteBuf first = datagram(100, 1);
        ByteBuf second = datagram(100, 2);
        assertNull(add(first, 0, 56, 1));
        assertNull(add(second, 0, 56, 2));
        assertSame(first, add(first, 56, 108, 1));
        assertSame(second, add(second, 56, 108, 2));
    }

    /**
     * Otherwise its bytes would be counted instead of missing bytes at the beginning, which would then contain
     * old data.
     */
    @Test
    void fragmentBeyondTheLastOneIsRejected() {
        ByteBuf udp = datagram(100, 3);
        ByteBuf shorter = udp.slice(0, 40);
        assertNull(add(udp, 64, 72, 4));
        assertNull(add(shorter, 32, 40, 4));
        assertEquals(2, statistics.dropped);
        assertNull(add(udp, 8, 32, 4));
        assertEquals(0, statistics.reassembled);
        udp.release();
    }

    @Test
    void overlappingFragmentsDiscardTheirDatagram() {
        ByteBuf udp = datagram(100, 3);
        assertNull(add(udp, 0, 56, 3));
        assertNull(add(udp, 48, 108, 3));
        assertEquals(2, statistics.dropped);
        assertNull(add(udp, 56, 108, 3));
        assertEquals(0, statistics.reassembled);
        udp.release();
    }

    @Test
    void repeatedFragmentsAreIgnored() {
        ByteBuf udp = datagram(100, 7);
        assertNull(add(udp, 0, 56, 7));
        assertNull(add(udp, 0, 56, 7));
        assertSame(udp, add(udp, 56, 108, 7));
    }

    @Test
    void damagedFragmentInvalidatesTheChecksum() {
        ByteBuf udp = datagram(100, 4);
        assertNull(add(udp, 0, 56, 4));
        udp.setByte(80, udp.getByte(80) ^ 1);
        add(udp, 56, 108, 4).release();
        assertEquals(ParseVerdict.UDP_BAD_CHECKSUM, verdict);
        fragments.rejectLast();
        assertEquals(2, statistics.dropped);
        assertEquals(0, statistics.reassembled);
        udp.release();
    }

    @Test
    void incompletePacketExpiresAndIsReported() {
        ByteBuf udp = datagram(100, 5);
        assertNull(add(udp, 0, 56, 5));
        nowNanos += TimeUnit.SECONDS.toNanos(1);
        assertNull(add(udp, 56, 104, 6));
        nowNanos = fragments.deadlineNanos();
        assertEquals(TimeUnit.SECONDS.toNanos(30), nowNanos);
        fragments.expire(nowNanos);
        assertEquals(1, statistics.dropped);
        assertEquals(HEADERS_BYTES + 56, expired.getFirst().readableBytes());
        assertEquals(udp.slice(0, 56), expired.getFirst().slice(HEADERS_BYTES, 56));
        nowNanos = fragments.deadlineNanos();
        assertNull(add(udp, 56, 108, 5), "the first part has gone");
        assertEquals(2, statistics.dropped);
        assertEquals(1, expired.size(), "without its first fragment nobody is told");
        udp.release();
    }

    @Test
    void oldestPacketsOfASourceAreDiscardedAtItsLimit() {
        int limit = ReassemblyLimits.MIN_BYTES;
        fragments = reassembly(new ReassemblyLimits(4 * limit, limit, 1, 1));
        ByteBuf udp = datagram(100, 6);
        assertNull(add(SOURCE + 1, 0, udp, 0, 56, 0));
        for (int id = 0; id < 10_000; id++) {
            assertNull(add(udp, 0, 56, id));
            assertTrue(allocator.metric().usedDirectMemory() < 2 * limit, "memory of one source");
        }
        assertTrue(statistics.dropped > 9_900, () -> statistics.dropped + " dropped");
        assertNull(add(udp, 56, 108, 0), "the oldest has made room");
        assertSame(udp.retain(), add(udp, 56, 108, 9_999));
        long dropped = statistics.dropped;
        assertSame(udp.retain(), add(SOURCE + 1, 0, udp, 56, 108, 0));
        assertEquals(dropped, statistics.dropped, "another source's packet was kept");
        udp.release();
    }

    @Test
    void memoryOfAllSourcesIsLimited() {
        int limit = ReassemblyLimits.MIN_BYTES;
        fragments = reassembly(new ReassemblyLimits(2 * limit, limit, 1, 1));
        ByteBuf udp = datagram(60_000, 7);
        for (int source = 1; source < 1_000; source++) {
            assertNull(add(SOURCE + source, 0, udp, 59_992, 60_008, 1));
            assertTrue(allocator.metric().usedDirectMemory() < 4 * limit, "a late fragment takes much room");
        }
        assertTrue(statistics.dropped > 990, () -> statistics.dropped + " dropped");
        udp.release();
    }

    /** RFC 3168 section 5.3. */
    @Test
    void congestionMarkOnAFragmentMarksThePacket() {
        ByteBuf udp = datagram(100, 8);
        assertNull(add(SOURCE, 2, udp, 0, 56, 1));
        assertSame(udp.retain(), add(SOURCE, 3, udp, 56, 108, 1));
        assertEquals(3, parsed.ecn());
        assertNull(add(SOURCE, 3, udp, 0, 56, 2));
        assertNull(add(SOURCE, 0, udp, 56, 108, 2), "without ECN there is no mark, only loss");
        assertEquals(2, statistics.dropped);
        udp.release();
    }
}
