package io.rdmaraw.host.userspace;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.rdmaraw.host.IpContext;
import io.rdmaraw.host.PortOwner;
import io.rdmaraw.loop.CrossLoopQueueLimit;
import io.rdmaraw.net.IcmpError;
import io.rdmaraw.net.IpAddress;
import io.rdmaraw.net.ReassemblyLimits;
import io.rdmaraw.tcp.segment.TcpFlags;
import io.rdmaraw.wire.BufferAddress;
import io.rdmaraw.wire.EtherType;
import io.rdmaraw.wire.EthernetHeader;
import io.rdmaraw.wire.FrameOrigin;
import io.rdmaraw.wire.FrameParser;
import io.rdmaraw.wire.HeaderWriter;
import io.rdmaraw.wire.InternetChecksum;
import io.rdmaraw.wire.IpProtocol;
import io.rdmaraw.wire.Ipv4Header;
import io.rdmaraw.wire.Ipv6Header;
import io.rdmaraw.wire.ParseCounters;
import io.rdmaraw.wire.ParseVerdict;
import io.rdmaraw.wire.ParsedFrame;
import io.rdmaraw.wire.TcpHeader;
import io.rdmaraw.wire.UdpHeader;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.util.ArrayDeque;
import java.util.List;
import java.util.Queue;
import java.util.Random;
import java.util.concurrent.Executor;

/** Frames that a userspace host passes to ports on other loops. */
class UserspaceHostReceiverTest {
    private static final long MAC = 0x02_00_00_0f_00_01L;
    private static final long PEER_MAC = 0x02_00_00_0f_00_02L;
    private static final IpAddress PEER_IPV6 = IpAddress.parse("fd15::2");
    private static final IpAddress OWN_IPV6 = IpAddress.parse("fd15::1");
    private static final int FRAME_BYTES = 60;
    private static final int SENT = 3 * CrossLoopQueueLimit.MAX_FRAMES;

    private final UnpooledByteBufAllocator allocator = new UnpooledByteBufAllocator(true);
    private final Queue<Runnable> tasks = new ArrayDeque<>();
    private final UserspaceHostStatistics statistics = new UserspaceHostStatistics(() -> null);
    private final FrameParser parser = new FrameParser(new ParseCounters());
    private final ParsedFrame last = new ParsedFrame();
    private ParseVerdict lastVerdict;
    private int lastPayloadBytes;
    private int taken;

    private final PortOwner port = new PortOwner() {
        @Override
        public Executor loop() {
            return tasks::add;
        }

        @Override
        public void receiveUnsteered(ByteBuf frame, boolean checksumVerified) {
            taken++;
            lastVerdict = parser.parse(BufferAddress.of(frame), frame.readableBytes(), checksumVerified, last);
            lastPayloadBytes = last.payloadLengthBytes();
            frame.release();
        }

        @Override
        public void receiveReassembled(ByteBuf packet, IpAddress source, IpAddress destination) {
            throw new AssertionError("datagrams come whole");
        }

        @Override
        public void onIcmpError(IcmpError error) {
            throw new AssertionError("there are no errors");
        }
    };
    private final UserspaceHostReceiver receiver = new UserspaceHostReceiver(new UserspaceHostEngine(
            new UserspaceHostConfig(
            MAC,
            List.of(UserspaceAddress.parse("10.15.0.1/24"), UserspaceAddress.parse("fd15::1/64")), List.of(), false),
            "own0",
            1500, new Mute(), new Random(1)),
            (protocol, source, sourcePort, destination, destinationPort) -> port,
            new IpContext(Runnable::run, 128, FrameOrigin.LINK),
            allocator, ReassemblyLimits.DEFAULT, statistics);

    private ByteBuf datagram() {
        ByteBuf frame = allocator.directBuffer(FRAME_BYTES).writeZero(FRAME_BYTES);
        long address = frame.memoryAddress();
        EthernetHeader.write(address, MAC, PEER_MAC, EtherType.IPV4);
        Ipv4Header.write(address + 14, 0, FRAME_BYTES - 14, 1, 0, 64, IpProtocol.UDP, 0x0a0f_0002, 0x0a0f_0001);
        UdpHeader.write(address + 34, 2000, 53, FRAME_BYTES - 34);
        return frame;
    }

    @Test
    void framesForSlowLoopAreLimited() {
        for (int i = 0; i < SENT; i++) {
            receiver.receive(datagram(), false, 1);
        }
        assertEquals(CrossLoopQueueLimit.MAX_FRAMES, tasks.size());
        assertTrue(allocator.metric().usedDirectMemory() <= (long) CrossLoopQueueLimit.MAX_FRAMES * FRAME_BYTES);
        while (!tasks.isEmpty()) {
            tasks.remove().run();
        }
        assertEquals(CrossLoopQueueLimit.MAX_FRAMES, taken);
        assertEquals(SENT, taken + value("owner-queue-full"), "the others are counted");
        receiver.receive(datagram(), false, 1);
        assertEquals(1, tasks.size(), "it gets frames again");
        tasks.remove().run();
        receiver.close();
        assertEquals(0, allocator.metric().usedDirectMemory());
    }

    /** Writes a TCP segment with a valid checksum, with room for the Ethernet and IP headers. */
    private ByteBuf segment(boolean ipv4, int payloadBytes) {
        int ipBytes = ipv4 ? Ipv4Header.MIN_LENGTH_BYTES : Ipv6Header.LENGTH_BYTES;
        int tcpBytes = TcpHeader.MIN_LENGTH_BYTES + payloadBytes;
        ByteBuf frame = allocator.directBuffer(14 + ipBytes + tcpBytes).writeZero(14 + ipBytes + tcpBytes);
        long tcp = frame.memoryAddress() + 14 + ipBytes;
        HeaderWriter.tcp(tcp, 2000, 80, 1, 2, TcpHeader.MIN_LENGTH_BYTES, TcpFlags.ACK, 1000);
        for (int i = 0; i < payloadBytes; i++) {
            frame.setByte(14 + ipBytes + TcpHeader.MIN_LENGTH_BYTES + i, i);
        }
        long pseudo = ipv4 ? InternetChecksum.pseudoHeaderIpv4(0x0a0f_0002, 0x0a0f_0001, IpProtocol.TCP, tcpBytes)
                : InternetChecksum.pseudoHeaderIpv6(PEER_IPV6.high(), PEER_IPV6.low(), OWN_IPV6.high(), OWN_IPV6.low(),
                        IpProtocol.TCP, tcpBytes);
        HeaderWriter.tcpChecksum(tcp, tcpBytes, pseudo);
        return frame;
    }

    private void receiveFragment(ByteBuf segment, boolean ipv4, int from, int end, int identification) {
        int ipBytes = ipv4 ? Ipv4Header.MIN_LENGTH_BYTES : Ipv6Header.LENGTH_BYTES;
        int headersBytes = ipv4 ? 34 : 62;
        int bytes = Math.min(end, segment.readableBytes() - 14 - ipBytes) - from;
        boolean more = 14 + ipBytes + from + bytes < segment.readableBytes();
        ByteBuf frame = allocator.directBuffer(headersBytes + bytes).writeZero(headersBytes)
                .writeBytes(segment, 14 + ipBytes + from, bytes);
        long address = frame.memoryAddress();
        EthernetHeader.write(address, MAC, PEER_MAC, ipv4 ? EtherType.IPV4 : EtherType.IPV6);
        if (ipv4) {
            Ipv4Header.write(address + 14, 0, 20 + bytes, identification,
                    (more ? Ipv4Header.MORE_FRAGMENTS : 0) | from / 8, 64, IpProtocol.TCP, 0x0a0f_0002, 0x0a0f_0001);
        } else {
            Ipv6Header.writeFixed(address + 14, 0, 0, 8 + bytes, IpProtocol.FRAGMENT, 64);
            Ipv6Header.setSource(address + 14, PEER_IPV6.high(), PEER_IPV6.low());
            Ipv6Header.setDestination(address + 14, OWN_IPV6.high(), OWN_IPV6.low());
            Ipv6Header.writeFragment(address + 54, IpProtocol.TCP, from, more, identification);
        }
        receiver.receive(frame, false, 1);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void fragmentedSegmentReachesPortAsWholeFrame(boolean ipv4) {
        ByteBuf segment = segment(ipv4, 1400);
        receiveFragment(segment, ipv4, 976, 2000, 7);
        assertEquals(0, tasks.size());
        receiveFragment(segment, ipv4, 0, 976, 7);
        tasks.remove().run();
        assertEquals(ParseVerdict.TCP, lastVerdict);
        assertEquals(1400, lastPayloadBytes);
        segment.setByte(200, segment.getByte(200) ^ 1);
        receiveFragment(segment, ipv4, 0, 976, 8);
        receiveFragment(segment, ipv4, 976, 2000, 8);
        assertEquals(0, tasks.size(), "its checksum is wrong");
        assertEquals(2, value("fragment"));
        segment.release();
        assertEquals(0, allocator.metric().usedDirectMemory());
    }

    private long value(String name) {
        return statistics.value(statistics.metrics().stream().filter(metric -> metric.name().equals(name)).findFirst()
                .orElseThrow());
    }

    private static final class Mute implements ControlOutput {
        @Override
        public long allocate() {
            return 0;
        }

        @Override
        public void send(int lengthBytes) {
            throw new AssertionError("nothing was allocated");
        }
    }
}
