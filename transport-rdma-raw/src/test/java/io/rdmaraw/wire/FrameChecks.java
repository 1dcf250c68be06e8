package io.rdmaraw.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.stream.Stream;

/**
 * Properties that hold for the parser with any input. It returns and counts a verdict, keeps every range inside
 * the frame, and reads nothing beyond the frame. The frame is adjacent to an inaccessible page, so a read beyond
 * it crashes.
 */
public final class FrameChecks {
    private static final GuardedMemory MEMORY = new GuardedMemory();
    private final FrameParser parser = new FrameParser(new ParseCounters());
    private final FrameParser onLink = new FrameParser(new ParseCounters(), FrameOrigin.LINK);
    private final ParsedFrame frame = new ParsedFrame();
    private final ParsedFrame quote = new ParsedFrame();
    private final UdpIpv4HeaderCodec udp = new UdpIpv4HeaderCodec();
    private final TcpOptions options = new TcpOptions();

    /** Returns the number of frames with a verdict, over all frame origins. */
    long count(ParseVerdict verdict) {
        return parser.counters().get(verdict) + onLink.counters().get(verdict);
    }

    ParseCounters counters() {
        return parser.counters();
    }

    /** Parses the bytes in several ways and checks the properties. */
    void check(byte[] bytes) {
        checkOne(bytes, MEMORY.putAtEnd(bytes), false);
        checkOne(bytes, MEMORY.putAtStart(bytes), true);
        long end = MEMORY.putAtEnd(bytes);
        checkOne(bytes, end, true);
        checkRanges(parser.parseIp(end, bytes.length, true, frame), bytes.length, frame);
        checkShortcut(bytes, parser);
        checkShortcut(bytes, onLink);
        checkOnLink(bytes);
    }

    /**
     * The parser for UDP datagrams in the common format must accept exactly those, and must return the same
     * values.
     */
    private void checkShortcut(byte[] bytes, FrameParser tried) {
        boolean takes = tried.parseVerifiedUdp(MEMORY.putAtStart(bytes), bytes.length, udp);
        boolean ordinary = tried.parse(MEMORY.putAtEnd(bytes), bytes.length, true, frame) == ParseVerdict.UDP
                && frame.ipVersion() == 4 && frame.vlanTagCount == 0 && frame.networkHeaderLengthBytes == 20;
        assertEquals(ordinary, takes);
        if (takes) {
            assertEquals(frame.payloadOffset(), UdpIpv4HeaderCodec.LENGTH_BYTES);
            assertEquals(frame.payloadLengthBytes(), udp.payloadLengthBytes());
            assertEquals(frame.sourceLow(), udp.sourceLow());
            assertEquals(frame.destinationLow(), udp.destinationLow());
            assertEquals(frame.sourcePort(), udp.sourcePort());
            assertEquals(frame.destinationPort(), udp.destinationPort());
        }
    }

    /** On a link, some valid frames are rejected; all other verdicts are the same. */
    private void checkOnLink(byte[] bytes) {
        long end = MEMORY.putAtEnd(bytes);
        ParseVerdict anywhere = parser.parse(end, bytes.length, false, frame);
        ParseVerdict there = onLink.parse(end, bytes.length, false, frame);
        boolean refused = there == ParseVerdict.MARTIAN || there == ParseVerdict.VLAN_FOREIGN;
        assertTrue(there == anywhere || refused && anywhere.isAccepted(), () -> anywhere + ", then " + there);
        if (there.isAccepted() && frame.ipVersion() == 6) {
            assertTrue(frame.sourceHigh() != 0 || frame.sourceLow() >>> 32 != 0xffff, "an IPv4 address in IPv6");
        }
    }

    private void checkOne(byte[] bytes, long address, boolean verified) {
        long before = parsedFrames(parser.counters());
        ParseVerdict verdict = parser.parse(address, bytes.length, verified, frame);
        assertEquals(before + 1, parsedFrames(parser.counters()));
        checkRanges(verdict, bytes.length, frame);
        if (verdict == ParseVerdict.TCP) {
            options.parse(frame);
        }
        if (verdict == ParseVerdict.ICMP || verdict == ParseVerdict.ICMPV6) {
            ParseVerdict quoted = parser.parseQuote(frame, quote);
            checkRanges(quoted, frame.payloadLengthBytes(), quote);
            NeighborDiscovery.linkLayerOption(frame.transportHeaderAddress(),
                    frame.transportHeaderLengthBytes() + frame.payloadLengthBytes(), 24, 1);
        }
    }

    private static void checkRanges(ParseVerdict verdict, int lengthBytes, ParsedFrame frame) {
        assertEquals(lengthBytes, frame.frameLengthBytes);
        if (!verdict.isAccepted()) {
            return;
        }
        assertTrue(frame.networkOffset >= 0);
        assertTrue(frame.networkOffset + frame.packetLengthBytes() <= lengthBytes);
        assertTrue(frame.payloadOffset() >= 0 && frame.payloadLengthBytes() >= 0);
        assertTrue(frame.payloadOffset() + frame.payloadLengthBytes() <= lengthBytes);
        assertTrue(frame.transportOffset() + frame.transportHeaderLengthBytes() <= lengthBytes);
        if (frame.transportHeaderLengthBytes() > 0) {
            assertEquals(frame.transportOffset() + frame.transportHeaderLengthBytes(), frame.payloadOffset());
            assertTrue(frame.payloadOffset() + frame.payloadLengthBytes()
                    <= frame.networkOffset + frame.packetLengthBytes());
        }
    }

    /** Returns the identifier of the first VLAN tag; 0 without a tag or for a priority tag. */
    public static int outerVlan(ParsedFrame frame) {
        return VlanTag.identifier(frame.outerTci);
    }

    /** Returns the number of parsed frames, over all verdicts. */
    public static long parsedFrames(ParseCounters counters) {
        return Stream.of(ParseVerdict.values()).mapToLong(counters::get).sum();
    }
}
