package io.rdmaraw.channel;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.rdmaraw.host.IpContext;
import io.rdmaraw.host.userspace.ControlOutput;
import io.rdmaraw.host.userspace.UserspaceAddress;
import io.rdmaraw.host.userspace.UserspaceHostEngine;
import io.rdmaraw.host.userspace.UserspaceHostConfig;
import io.rdmaraw.host.userspace.UserspaceHostReceiver;
import io.rdmaraw.host.userspace.UserspaceHostStatistics;
import io.rdmaraw.net.IpAddress;
import io.rdmaraw.net.PacketReassembly;
import io.rdmaraw.net.ReassemblyLimits;
import io.rdmaraw.wire.EtherType;
import io.rdmaraw.wire.EthernetHeader;
import io.rdmaraw.wire.FrameOrigin;
import io.rdmaraw.wire.FrameParser;
import io.rdmaraw.wire.IcmpHeader;
import io.rdmaraw.wire.InternetChecksum;
import io.rdmaraw.wire.IpProtocol;
import io.rdmaraw.wire.Ipv4Header;
import io.rdmaraw.wire.Ipv6Header;
import io.rdmaraw.ffi.NetworkOrder;
import io.rdmaraw.wire.ParseCounters;
import io.rdmaraw.wire.ParseVerdict;
import io.rdmaraw.wire.ParsedFrame;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

/** ICMP errors of a userspace host for packets it cannot process, and replies to pings longer than the MTU. */
class UserspaceHostErrorsTest {
    private static final long MAC = 0x02_00_00_0f_00_01L;
    private static final long PEER_MAC = 0x02_00_00_0f_00_02L;
    private static final IpAddress OWN_IPV4 = IpAddress.parse("10.15.0.1");
    private static final IpAddress PEER_IPV4 = IpAddress.parse("10.15.0.2");
    private static final IpAddress OWN_IPV6 = IpAddress.parse("fd15::1");
    private static final IpAddress PEER_IPV6 = IpAddress.parse("fd15::2");
    private static final int MTU_BYTES = 1500;

    private final UnpooledByteBufAllocator allocator = new UnpooledByteBufAllocator(true);
    private final UserspaceHostStatistics statistics = new UserspaceHostStatistics(() -> null);
    private final FrameParser parser = new FrameParser(new ParseCounters());
    private final ParsedFrame parsed = new ParsedFrame();
    private final List<ByteBuf> sent = new ArrayList<>();
    private final UserspaceHostEngine host = new UserspaceHostEngine(new UserspaceHostConfig(MAC,
            List.of(UserspaceAddress.parse("10.15.0.1/24"),
            UserspaceAddress.parse("fd15::1/64")), List.of(), false), "own0", MTU_BYTES, new Output(), new Random(1));
    private final UserspaceHostReceiver receiver = new UserspaceHostReceiver(host,
            (protocol, source, sourcePort, destination, destinationPort) -> null,
            new IpContext(Runnable::run, 128, FrameOrigin.LINK), allocator, ReassemblyLimits.DEFAULT, statistics);
    /** Starts below zero and passes zero, which must have no special meaning. */
    private long nowNanos = -TimeUnit.SECONDS.toNanos(1);

    @BeforeEach
    void start() {
        host.start(nowNanos);
        forgetSent();
    }

    @AfterEach
    void free() {
        forgetSent();
        receiver.close();
        assertEquals(0, allocator.metric().usedDirectMemory());
    }

    private void forgetSent() {
        sent.forEach(ByteBuf::release);
        sent.clear();
    }

    private ByteBuf ipv6(long mac, IpAddress destination, int nextHeader, byte[] payload) {
        ByteBuf frame = allocator.directBuffer(54 + payload.length).writeZero(54).writeBytes(payload);
        long address = frame.memoryAddress();
        EthernetHeader.write(address, mac, PEER_MAC, EtherType.IPV6);
        Ipv6Header.writeFixed(address + 14, 0, 0, payload.length, nextHeader, 64);
        Ipv6Header.setSource(address + 14, PEER_IPV6.high(), PEER_IPV6.low());
        Ipv6Header.setDestination(address + 14, destination.high(), destination.low());
        return frame;
    }

    private ByteBuf ipv4(int protocol, int identification, int flagsAndOffset, byte[] payload) {
        ByteBuf frame = allocator.directBuffer(34 + payload.length).writeZero(34).writeBytes(payload);
        long address = frame.memoryAddress();
        EthernetHeader.write(address, MAC, PEER_MAC, EtherType.IPV4);
        Ipv4Header.write(address + 14, 0, 20 + payload.length, identification, flagsAndOffset, 64, protocol,
                PEER_IPV4.ipv4(), OWN_IPV4.ipv4());
        return frame;
    }

    private void receive(ByteBuf frame) {
        receiver.receive(frame, false, nowNanos);
    }

    /** Returns type, code and second word of the only ICMP error sent, or "none". */
    private String error() {
        if (sent.isEmpty()) {
            return "none";
        }
        assertEquals(1, sent.size());
        ByteBuf frame = sent.getFirst();
        ParseVerdict verdict = parser.parse(frame.memoryAddress(), frame.readableBytes(), false, parsed);
        assertTrue(verdict == ParseVerdict.ICMP || verdict == ParseVerdict.ICMPV6, verdict::toString);
        assertEquals(PEER_MAC, EthernetHeader.destination(frame.memoryAddress()));
        long icmp = parsed.transportHeaderAddress();
        return IcmpHeader.type(icmp) + " " + IcmpHeader.code(icmp) + " " + NetworkOrder.getInt(icmp + 4);
    }

    /** The first byte of an extension header is the next header; 3b means that nothing follows. */
    @ParameterizedTest
    @CsvSource({
        // Unknown options, by the two high bits of their type (RFC 8200 section 4.2).
        "0, 3b00 0104 00000000, none", "0, 3b00 1e04 00000000, none", "0, 3b00 5e04 00000000, none",
        "0, 3b00 9e04 00000000, 4 2 42", "60, 3b00 de04 00000000, 4 2 42", "60, 3b00 0100 0000 9e00, 4 2 46",
        // A routing header of an unknown type, with and without segments left (section 4.4).
        "43, 3b00 fd01 00000000, 4 0 42", "43, 3b00 fd00 00000000, none",
        // Unknown protocols (section 4), and no next header.
        "253, 00, 4 1 6", "60, fd00 0104 00000000, 4 1 40", "59, 00, none",
        // Fragments: a length that is not a multiple of eight, an end beyond the longest packet (section 4.5).
        "44, 3a00 0001 00000001 00000000000000, 4 0 4", "44, 3a00 fff8 00000001 0000000000000000, 4 0 42",
    })
    void unusableIpv6PacketsCauseErrors(int nextHeader, String payload, String expected) {
        receive(ipv6(MAC, OWN_IPV6, nextHeader, HexFormat.of().parseHex(payload.replace(" ", ""))));
        assertEquals(expected, error());
    }

    @ParameterizedTest
    @CsvSource({"9e, 4 2 42", "de, none"})
    void groupPacketsCauseErrorsForSomeOptionsOnly(String option, String expected) {
        byte[] payload = HexFormat.of().parseHex("3b00" + option + "0400000000");
        receive(ipv6(0x3333_0000_0001L, IpAddress.parse("ff02::1"), 60, payload));
        assertEquals(expected, error());
        forgetSent();
        receive(ipv6(0x3333_0000_0001L, IpAddress.parse("ff02::1"), 253, payload));
        assertEquals("none", error());
    }

    @Test
    void unknownIpv4ProtocolCausesError() {
        receive(ipv4(253, 1, 0, new byte[8]));
        assertEquals("3 2 0", error());
    }

    /** RFC 4443 section 2.4 (e): no error answers a frame to a group MAC address or a packet for another host. */
    @Test
    void framesToGroupsAndOtherHostsCauseNoErrors() {
        receive(ipv6(0x3333_0000_0001L, OWN_IPV6, 253, new byte[8]));
        receive(ipv6(MAC, IpAddress.parse("fd15::7"), 253, new byte[8]));
        assertEquals("none", error());
    }

    @Test
    void errorsToOneSenderAreBounded() {
        for (int i = 0; i < 100; i++) {
            receive(ipv6(MAC, OWN_IPV6, 253, new byte[8]));
        }
        assertEquals(6, sent.size());
        assertEquals(6, host.counters().packetErrors);
        assertEquals(94, host.counters().errorsWithheld);
    }

    @Test
    void reassemblyTimeoutIsReportedWithFirstFragment() {
        byte[] first = HexFormat.of().parseHex("1100000100000007" + "07d0003500280000" + "00".repeat(8));
        receive(ipv6(MAC, OWN_IPV6, IpProtocol.FRAGMENT, first));
        byte[] later = HexFormat.of().parseHex("1100000900000008" + "00".repeat(8));
        receive(ipv6(MAC, OWN_IPV6, IpProtocol.FRAGMENT, later));
        nowNanos += TimeUnit.SECONDS.toNanos(60) - 1;
        receiver.poll(nowNanos);
        assertEquals("none", error());
        nowNanos = receiver.deadlineNanos();
        receiver.poll(nowNanos);
        assertEquals("3 1 0", error());
        assertEquals(IpProtocol.FRAGMENT, NetworkOrder.getU8(parsed.payloadAddress() + 6), "it quotes the fragment");
        assertEquals(40 + first.length, parsed.payloadLengthBytes());
        assertEquals(Long.MAX_VALUE, receiver.deadlineNanos());
        forgetSent();
        receive(ipv4(IpProtocol.UDP, 7, Ipv4Header.MORE_FRAGMENTS, new byte[16]));
        nowNanos = receiver.deadlineNanos();
        receiver.poll(nowNanos);
        assertEquals("11 1 0", error());
        forgetSent();
        // The first fragment of an ICMP error.
        byte[] error = HexFormat.of().parseHex("3a00000100000009" + "0104".repeat(8));
        receive(ipv6(MAC, OWN_IPV6, IpProtocol.FRAGMENT, error));
        nowNanos = receiver.deadlineNanos();
        receiver.poll(nowNanos);
        assertEquals("none", error(), "no error about an error");
    }

    /** RFC 6980 section 5. */
    @Test
    void neighborDiscoveryInFragmentsIsIgnored() {
        byte[] solicitation = HexFormat.of().parseHex("8700000000000000" + "fd15000000000000" + "0000000000000001");
        long pseudo = InternetChecksum.pseudoHeaderIpv6(PEER_IPV6.high(), PEER_IPV6.low(), OWN_IPV6.high(),
                OWN_IPV6.low(), IpProtocol.ICMPV6, solicitation.length);
        ByteBuf message = allocator.directBuffer().writeBytes(solicitation);
        IcmpHeader.updateChecksum(message.memoryAddress(), solicitation.length, pseudo);
        for (int offset = 0; offset < solicitation.length; offset += 8) {
            ByteBuf fragment = ipv6(MAC, OWN_IPV6, IpProtocol.FRAGMENT, new byte[16]);
            long address = fragment.memoryAddress();
            Ipv6Header.writeFixed(address + 14, 0, 0, 16, IpProtocol.FRAGMENT, 255);
            Ipv6Header.writeFragment(address + 54, IpProtocol.ICMPV6, offset, offset < 16, 5);
            fragment.setBytes(62, message, offset, 8);
            receive(fragment);
        }
        message.release();
        assertEquals("none", error());
        assertEquals(3, statistics.fragments().dropped);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aPingThatComesInFragmentsIsAnsweredInFragments(boolean ipv4) {
        for (int dataBytes : new int[] {1472, 4000, 65_400}) {
            ping(ipv4, dataBytes);
            forgetSent();
        }
        assertEquals(3, host.counters().echoesAnswered);
    }

    private void ping(boolean ipv4, int dataBytes) {
        int lengthBytes = 8 + dataBytes;
        ByteBuf message = allocator.directBuffer(lengthBytes).writeZero(8);
        byte[] data = new byte[dataBytes];
        new Random(dataBytes).nextBytes(data);
        message.writeBytes(data);
        IcmpHeader.write(message.memoryAddress(), ipv4 ? IcmpHeader.ECHO_REQUEST : IcmpHeader.V6_ECHO_REQUEST, 0, 77);
        long pseudo = ipv4 ? 0 : InternetChecksum.pseudoHeaderIpv6(PEER_IPV6.high(), PEER_IPV6.low(), OWN_IPV6.high(),
                OWN_IPV6.low(), IpProtocol.ICMPV6, lengthBytes);
        IcmpHeader.updateChecksum(message.memoryAddress(), lengthBytes, pseudo);
        for (int offset = 0; offset < lengthBytes; offset += 1000) {
            byte[] part = new byte[Math.min(1000, lengthBytes - offset)];
            message.getBytes(offset, part);
            boolean more = offset + part.length < lengthBytes;
            if (ipv4) {
                receive(ipv4(IpProtocol.ICMP, dataBytes, offset / 8 | (more ? Ipv4Header.MORE_FRAGMENTS : 0), part));
            } else {
                byte[] payload = new byte[8 + part.length];
                System.arraycopy(part, 0, payload, 8, part.length);
                ByteBuf fragment = ipv6(MAC, OWN_IPV6, IpProtocol.FRAGMENT, payload);
                Ipv6Header.writeFragment(fragment.memoryAddress() + 54, IpProtocol.ICMPV6, offset, more, dataBytes);
                receive(fragment);
            }
        }
        ByteBuf reply = answer();
        int headersBytes = ipv4 ? 34 : 54;
        assertEquals(ipv4 ? ParseVerdict.ICMP : ParseVerdict.ICMPV6,
                parser.parse(reply.memoryAddress(), reply.readableBytes(), false, parsed), "its checksum holds");
        assertEquals(ipv4 ? PEER_IPV4 : PEER_IPV6, IpAddress.destinationOf(parsed));
        assertEquals(ipv4 ? IcmpHeader.ECHO_REPLY : IcmpHeader.V6_ECHO_REPLY,
                IcmpHeader.type(parsed.transportHeaderAddress()));
        assertEquals(message.slice(8, dataBytes), reply.slice(headersBytes + 8, dataBytes));
        reply.release();
        message.release();
    }

    /** Reassembles the frames that the host has sent, as the peer would. */
    private ByteBuf answer() {
        PacketReassembly.Counters counters = new PacketReassembly.Counters();
        PacketReassembly peer = new PacketReassembly(allocator, ReassemblyLimits.DEFAULT, counters, ByteBuf::release);
        ByteBuf whole = null;
        for (ByteBuf frame : sent) {
            assertNull(whole, "one answer");
            assertTrue(frame.readableBytes() <= 14 + MTU_BYTES);
            ParseVerdict verdict = parser.parse(frame.memoryAddress(), frame.readableBytes(), false, parsed);
            whole = verdict == ParseVerdict.FRAGMENT ? peer.add(parsed, nowNanos) : frame.retain();
        }
        assertNotNull(whole);
        peer.close();
        return whole;
    }

    private final class Output implements ControlOutput {
        private ByteBuf written;

        @Override
        public long allocate() {
            written = allocator.directBuffer(2048).writeZero(2048);
            return written.memoryAddress();
        }

        @Override
        public void send(int lengthBytes) {
            sent.add(written.writerIndex(lengthBytes));
        }
    }
}
