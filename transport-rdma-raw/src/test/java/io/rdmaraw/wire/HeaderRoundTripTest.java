package io.rdmaraw.wire;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.ffi.NetworkOrder;
import java.util.Arrays;
import java.util.HexFormat;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.Size;
import org.junit.jupiter.api.Test;

/** Written headers are accepted by the parser and read back, and have the bytes that the standards define. */
class HeaderRoundTripTest {
    private static final GuardedMemory MEMORY = new GuardedMemory();
    private final FrameParser parser = new FrameParser(new ParseCounters());
    private final ParsedFrame frame = new ParsedFrame();

    @Property(tries = 1000)
    void udpOverIpv4IsReadBack(@ForAll @IntRange(max = 65535) int sourcePort,
            @ForAll @IntRange(max = 65535) int destinationPort, @ForAll @Size(max = 300) byte[] payload,
            @ForAll @IntRange(max = 255) int tos) {
        int total = 28 + payload.length;
        long address = MEMORY.atEnd(14 + total);
        EthernetHeader.write(address, 0x020000000002L, 0x0a1b2c3d4e5fL, EtherType.IPV4);
        Ipv4Header.write(address + 14, tos, total, 77, Ipv4Header.DONT_FRAGMENT, 64, IpProtocol.UDP, 0x0a000001,
                0x0a000002);
        long udp = address + 34;
        UdpHeader.write(udp, sourcePort, destinationPort, 8 + payload.length);
        put(udp + 8, payload);
        long pseudo = InternetChecksum.pseudoHeaderIpv4(address + 14, IpProtocol.UDP, 8 + payload.length);
        UdpHeader.setChecksum(udp, InternetChecksum.finish(InternetChecksum.sum(udp, 8 + payload.length, pseudo)));
        assertEquals(ParseVerdict.UDP, parser.parse(address, 14 + total, false, frame));
        assertEquals(0x0a1b2c3d4e5fL, EthernetHeader.source(address));
        assertEquals(0x020000000002L, EthernetHeader.destination(address));
        assertEquals(tos, frame.trafficClass());
        assertEquals(sourcePort, frame.sourcePort());
        assertEquals(destinationPort, frame.destinationPort());
        assertArrayEquals(payload, GuardedMemory.bytes(frame.payloadAddress(), frame.payloadLengthBytes()));
    }

    @Property(tries = 1000)
    void udpIpv4CodecWritesTheSameBytes(@ForAll @IntRange(max = 65535) int sourcePort,
            @ForAll @IntRange(max = 65535) int targetPort, @ForAll int source, @ForAll int target,
            @ForAll @IntRange(max = 255) int tos, @ForAll @IntRange(max = 255) int timeToLive, @ForAll int id,
            @ForAll boolean dontFragment, @ForAll @IntRange(max = 1472) int payloadBytes) {
        int flags = dontFragment ? Ipv4Header.DONT_FRAGMENT : 0;
        int lengthBytes = UdpIpv4HeaderCodec.LENGTH_BYTES + payloadBytes;
        long expected = MEMORY.atEnd(2 * lengthBytes);
        EthernetHeader.write(expected, 0x020000000002L, 0xfa1b2c3d4e5fL, EtherType.IPV4);
        Ipv4Header.write(expected + 14, tos, lengthBytes - 14, id & 0xffff, flags, timeToLive, IpProtocol.UDP, source,
                target);
        UdpHeader.write(expected + 34, sourcePort, targetPort, 8 + payloadBytes);
        byte[] payload = new byte[payloadBytes];
        Arrays.fill(payload, (byte) 0x55);
        put(expected + UdpIpv4HeaderCodec.LENGTH_BYTES, payload);
        long written = expected + lengthBytes;
        put(written + UdpIpv4HeaderCodec.LENGTH_BYTES, payload);
        new UdpIpv4HeaderCodec().write(written, 0x020000000002L, 0xfa1b2c3d4e5fL, tos, payloadBytes, id, flags,
                timeToLive,
                source, target, sourcePort, targetPort);
        assertArrayEquals(GuardedMemory.bytes(expected, lengthBytes), GuardedMemory.bytes(written, lengthBytes));
    }

    @Property(tries = 1000)
    void tcpOverIpv6IsReadBack(@ForAll int sequence, @ForAll int acknowledgment, @ForAll @IntRange(max = 255) int flags,
            @ForAll @IntRange(max = 65535) int window, @ForAll @Size(max = 100) byte[] payload) {
        int length = 32 + payload.length;
        long address = MEMORY.atEnd(40 + length);
        Ipv6Header.writeFixed(address, 0xa8, 0xabcde, length, IpProtocol.TCP, 61);
        Ipv6Header.setSource(address, 0x20010db800000000L, 1);
        Ipv6Header.setDestination(address, 0x20010db800000000L, 2);
        long tcp = address + 40;
        HeaderWriter.tcp(tcp, 1, 65535, sequence, acknowledgment, 32, flags, window);
        TcpOptionWriter.timestamps(tcp + 20, sequence, flags);
        put(tcp + 32, payload);
        long pseudo = InternetChecksum.pseudoHeaderIpv6(address, IpProtocol.TCP, length);
        HeaderWriter.tcpChecksum(tcp, length, pseudo);
        assertEquals(ParseVerdict.TCP, parser.parseIp(address, 40 + length, false, frame));
        assertEquals(0xabcde, NetworkOrder.getInt(address) & 0xf_ffff);
        assertEquals(0xa8, frame.trafficClass());
        assertEquals(61, frame.hopLimit());
        assertEquals(1, frame.sourcePort());
        assertEquals(65535, frame.destinationPort());
        assertEquals(sequence, TcpHeader.sequence(tcp));
        assertEquals(acknowledgment, NetworkOrder.getInt(tcp + 8));
        assertEquals(flags, NetworkOrder.getU8(tcp + 13));
        assertEquals(window, NetworkOrder.getU16(tcp + 14));
        assertEquals(0, TcpHeader.urgentPointer(tcp));
        assertEquals(32, frame.transportHeaderLengthBytes());
        assertArrayEquals(payload, GuardedMemory.bytes(frame.payloadAddress(), frame.payloadLengthBytes()));
    }

    @Test
    void arpHasTheBytesOfTheStandard() {
        long address = MEMORY.atEnd(42);
        EthernetHeader.write(address, EthernetHeader.BROADCAST, 0x020000000001L, EtherType.ARP);
        ArpPacket.write(address + 14, ArpPacket.REPLY, 0x020000000001L, 0xc0a80001, 0x020000000002L, 0xc0a80002);
        assertEquals("ffffffffffff0200000000010806" + "0001080006040002020000000001c0a80001020000000002c0a80002",
                HexFormat.of().formatHex(GuardedMemory.bytes(address, 42)));
        assertEquals(ParseVerdict.ARP, parser.parse(address, 42, false, frame));
    }

    @Test
    void vlanTagHasTheBytesOfTheStandard() {
        long address = MEMORY.atEnd(6);
        HeaderWriter.vlanTag(address, EtherType.VLAN, 7 << 13 | 4094, EtherType.IPV6);
        assertEquals("8100effe86dd", HexFormat.of().formatHex(GuardedMemory.bytes(address, 6)));
        assertEquals(4094, VlanTag.identifier(VlanTag.tci(address)));
        assertEquals(EtherType.IPV6, VlanTag.innerEtherType(address));
    }

    @Test
    void neighbourAdvertisementIsReadBack() {
        long address = MEMORY.atEnd(72);
        Ipv6Header.writeFixed(address, 0, 0, 32, IpProtocol.ICMPV6, 255);
        Ipv6Header.setSource(address, 0xfe80000000000000L, 1);
        Ipv6Header.setDestination(address, 0xfe80000000000000L, 2);
        int flags = NeighborDiscovery.FLAG_SOLICITED | NeighborDiscovery.FLAG_OVERRIDE;
        int length = NeighborDiscovery.write(address + 40, NeighborDiscovery.NEIGHBOR_ADVERTISEMENT, flags,
                0xfe80000000000000L, 1, NeighborDiscovery.OPTION_TARGET_LINK_LAYER, 0x020000000001L);
        assertEquals(32, length);
        IcmpHeader.updateChecksum(address + 40, length, InternetChecksum.pseudoHeaderIpv6(address, 58, length));
        assertEquals(ParseVerdict.ICMPV6, parser.parseIp(address, 72, false, frame));
        assertEquals(flags, NeighborDiscovery.flags(address + 40));
        assertEquals(0x020000000001L, NeighborDiscovery.linkLayerOption(address + 40, length, 24,
                NeighborDiscovery.OPTION_TARGET_LINK_LAYER));
    }

    @Property(tries = 300)
    void echoIsTurnedIntoItsReplyInPlace(@ForAll @Size(max = 80) byte[] payload, @ForAll int word) {
        int total = 28 + payload.length;
        long address = MEMORY.atEnd(total);
        Ipv4Header.write(address, 0, total, 1, 0, 64, IpProtocol.ICMP, 0x0a000001, 0x0a000002);
        IcmpHeader.write(address + 20, IcmpHeader.ECHO_REQUEST, 0, word);
        put(address + 28, payload);
        IcmpHeader.updateChecksum(address + 20, 8 + payload.length);
        assertEquals(ParseVerdict.ICMP, parser.parseIp(address, total, false, frame));
        IcmpHeader.convertToReply(address + 20, IcmpHeader.ECHO_REPLY);
        assertEquals(ParseVerdict.ICMP, parser.parseIp(address, total, false, frame));
        assertEquals(IcmpHeader.ECHO_REPLY, IcmpHeader.type(address + 20));
        assertEquals(word >>> 16, NetworkOrder.getU16(address + 24));
    }

    @Test
    void ipv6FragmentHeaderHasTheBytesOfTheStandard() {
        long address = MEMORY.atEnd(8);
        Ipv6Header.writeFragment(address, IpProtocol.UDP, 1448, true, 0xdeadbeef);
        assertEquals("110005a9deadbeef", HexFormat.of().formatHex(GuardedMemory.bytes(address, 8)));
    }

    @Test
    void groupAddressesAreMapped() {
        assertTrue(EthernetHeader.isGroup(EthernetHeader.BROADCAST));
        assertFalse(EthernetHeader.isGroup(0x020000000001L));
        assertEquals(0x01005e7fffffL, EthernetHeader.multicastOfIpv4(0xefffffff));
        assertEquals(0x3333ff000001L, EthernetHeader.multicastOfIpv6(0x1_ff000001L));
    }

    @Test
    void udpChecksumOfZeroIsSentAsOnes() {
        long address = MEMORY.atEnd(8);
        UdpHeader.setChecksum(address, 0);
        assertEquals(0xffff, UdpHeader.checksum(address));
    }

    private static void put(long address, byte[] bytes) {
        for (int i = 0; i < bytes.length; i++) {
            NativeMemory.putByte(address + i, bytes[i]);
        }
    }
}
