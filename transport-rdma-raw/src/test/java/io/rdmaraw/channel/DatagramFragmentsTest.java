package io.rdmaraw.channel;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import io.rdmaraw.host.HostView;
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

class DatagramFragmentsTest {
    private static final int SOURCE = 0x0a000001;
    private static final int DESTINATION = 0x0a000002;

    private final RdmaRawDatagramStatistics statistics = new RdmaRawDatagramStatistics();
    private final DatagramFragments fragments = new DatagramFragments(ByteBufAllocator.DEFAULT, statistics);
    private final FrameParser parser = new FrameParser(new ParseCounters());
    private long nowNanos;

    @AfterEach
    void close() {
        fragments.close();
    }

    /** A UDP datagram with its checksum; the bytes follow from the seed. */
    private static ByteBuf datagram(int payloadBytes, int seed) {
        ByteBuf udp = Unpooled.directBuffer(8 + payloadBytes).writeZero(8);
        byte[] payload = new byte[payloadBytes];
        new Random(seed).nextBytes(payload);
        udp.writeBytes(payload);
        long address = HostView.addressOf(udp);
        UdpHeader.write(address, 1000, 2000, udp.readableBytes());
        long pseudo = InternetChecksum.pseudoHeaderIpv4(SOURCE, DESTINATION, IpProtocol.UDP, udp.readableBytes());
        UdpHeader.setChecksum(address, InternetChecksum.finish(
                InternetChecksum.sum(address, udp.readableBytes(), pseudo)));
        return udp;
    }

    private ByteBuf add(ByteBuf udp, int from, int end, int identification) {
        ByteBuf frame = Unpooled.directBuffer(14 + 20 + end - from).writeZero(34).writeBytes(udp, from, end - from);
        long address = HostView.addressOf(frame);
        EthernetHeader.write(address, 0x0200_0000_0002L, 0x0200_0000_0001L, EtherType.IPV4);
        int more = end < udp.readableBytes() ? Ipv4Header.MORE_FRAGMENTS : 0;
        Ipv4Header.write(address + 14, 0, 20 + end - from, identification, more | from / 8, 64, IpProtocol.UDP, SOURCE,
                DESTINATION);
        ParsedFrame parsed = new ParsedFrame();
        assertEquals(ParseVerdict.FRAGMENT, parser.parse(address, frame.readableBytes(), false, parsed));
        ByteBuf complete = fragments.add(parsed, frame, nowNanos);
        frame.release();
        return complete;
    }

    private static void assertSame(ByteBuf expected, ByteBuf actual) {
        assertNotNull(actual);
        assertEquals(expected, actual);
        actual.release();
        expected.release();
    }

    @Test
    void anyOrderWillDo() {
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
        assertEquals(50, statistics.reassembledDatagrams());
        assertEquals(0, statistics.droppedFragments());
    }

    @Test
    void datagramsThatInterleaveStayApart() {
        ByteBuf first = datagram(100, 1);
        ByteBuf second = datagram(100, 2);
        assertNull(add(first, 0, 56, 1));
        assertNull(add(second, 0, 56, 2));
        assertSame(first, add(first, 56, 108, 1));
        assertSame(second, add(second, 56, 108, 2));
    }

    /** Its bytes would count for those that are missing at the beginning, where there is whatever was there before. */
    @Test
    void nothingLiesBehindTheLastFragment() {
        ByteBuf udp = datagram(100, 3);
        ByteBuf shorter = udp.slice(0, 40);
        assertNull(add(udp, 64, 72, 4));
        assertNull(add(shorter, 32, 40, 4));
        assertEquals(2, statistics.droppedFragments());
        assertNull(add(udp, 8, 32, 4));
        assertEquals(0, statistics.reassembledDatagrams());
        udp.release();
    }

    @Test
    void overlappingFragmentsEndTheirDatagram() {
        ByteBuf udp = datagram(100, 3);
        assertNull(add(udp, 0, 56, 3));
        assertNull(add(udp, 48, 108, 3));
        assertEquals(2, statistics.droppedFragments());
        assertNull(add(udp, 56, 108, 3));
        assertEquals(0, statistics.reassembledDatagrams());
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
    void aDamagedFragmentSpoilsTheChecksum() {
        ByteBuf udp = datagram(100, 4);
        assertNull(add(udp, 0, 56, 4));
        udp.setByte(80, udp.getByte(80) ^ 1);
        assertNull(add(udp, 56, 108, 4));
        assertEquals(2, statistics.droppedFragments());
        udp.release();
    }

    @Test
    void whatDoesNotComeInTimeIsGivenUp() {
        ByteBuf udp = datagram(100, 5);
        assertNull(add(udp, 0, 56, 5));
        nowNanos += TimeUnit.SECONDS.toNanos(30);
        assertNull(add(udp, 56, 108, 5));
        assertEquals(1, statistics.droppedFragments());
        udp.release();
    }

    @Test
    void unfinishedDatagramsAreBounded() {
        ByteBuf udp = datagram(100, 6);
        for (int id = 0; id < 33; id++) {
            assertNull(add(udp, 0, 56, id));
        }
        assertEquals(1, statistics.droppedFragments(), "the oldest makes room");
        assertNull(add(udp, 56, 108, 0));
        assertSame(udp, add(udp, 56, 108, 32));
    }
}
