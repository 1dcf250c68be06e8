package io.rdmaraw.channel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.socket.DatagramPacket;
import io.rdmaraw.metrics.RdmaRawMetered;
import io.rdmaraw.metrics.RdmaRawQueueStatistics;
import io.rdmaraw.net.IpAddress;
import io.rdmaraw.tcp.segment.Segment;
import io.rdmaraw.tcp.segment.TcpFlags;
import io.rdmaraw.tcp.segment.TcpHeaderCodec;
import io.rdmaraw.wire.EtherType;
import io.rdmaraw.wire.EthernetHeader;
import io.rdmaraw.wire.HeaderWriter;
import io.rdmaraw.wire.InternetChecksum;
import io.rdmaraw.wire.IpProtocol;
import io.rdmaraw.wire.Ipv4Header;
import io.rdmaraw.wire.Ipv6Header;
import io.rdmaraw.ffi.NetworkOrder;
import io.rdmaraw.wire.UdpHeader;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.net.InetSocketAddress;
import java.net.NoRouteToHostException;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/**
 * A host receives frames with impossible source addresses or of other VLANs. Its datagram channels and servers drop and
 * count each of them. The host itself connects to unicast addresses only.
 */
@Timeout(60)
class FramesOfOthersTest {
    private static final long MAC = 0x02_00_00_0d_00_01L;
    private static final long PEER_MAC = 0x02_00_00_0d_00_66L;
    private static final IpAddress LOCAL4 = IpAddress.parse("10.13.0.1");
    private static final IpAddress LOCAL6 = IpAddress.parse("fd13::1");
    private static final int PORT = 4433;
    private static final int PEER_PORT = 1000;
    private static final String GOOD = "10.13.0.9";

    private final LoopDevice device = LoopDevice.inMemory();
    private final EventLoopGroup group = new RdmaRawEventLoopGroup(1, RdmaRawIoHandlerConfig.builder()
            .device(device.name).detectDuplicateAddresses(false).receiveQueueDepth(256).sendQueueDepth(256)
            .slotCount(1024).userspaceAddress("02:00:00:0d:00:01", "10.13.0.1/24", null)
            .userspaceAddress("02:00:00:0d:00:01", "fd13::1/64", null).build());
    private final RdmaRawEventLoopGroup wires = new RdmaRawEventLoopGroup(1);
    private final BlockingQueue<InetSocketAddress> senders = new LinkedBlockingQueue<>();
    private RdmaRawDatagramChannel datagrams;
    private RdmaRawServerSocketChannel server;
    private RdmaRawChannel wire;

    @BeforeEach
    void open() throws InterruptedException {
        datagrams = (RdmaRawDatagramChannel) new Bootstrap().group(group).channel(RdmaRawDatagramChannel.class)
                .handler(new SimpleChannelInboundHandler<DatagramPacket>() {
                    @Override
                    protected void channelRead0(ChannelHandlerContext ctx, DatagramPacket received) {
                        senders.add(received.sender());
                    }
                }).bind("::", PORT).sync().channel();
        server = (RdmaRawServerSocketChannel) new ServerBootstrap().group(group)
                .channel(RdmaRawServerSocketChannel.class).childHandler(new ChannelInboundHandlerAdapter())
                .bind("::", PORT).sync().channel();
        wire = device.bind(wires, device.sendOnly(), new ChannelInboundHandlerAdapter());
    }

    @AfterEach
    void shutDown() {
        wires.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
        group.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
    }

    private ByteBuf frame(EtherType4Or6 version, int tciOrNone, Writer packet) {
        int tagBytes = tciOrNone < 0 ? 0 : 4;
        ByteBuf frame = wire.alloc().directBuffer(160).writeZero(160);
        long address = frame.memoryAddress();
        EthernetHeader.write(address, MAC, PEER_MAC, version.etherType);
        if (tciOrNone >= 0) {
            HeaderWriter.vlanTag(address + 12, 0x8100, tciOrNone, version.etherType);
        }
        int lengthBytes = packet.write(address + EthernetHeader.LENGTH_BYTES + tagBytes);
        return frame.writerIndex(Math.max(60, EthernetHeader.LENGTH_BYTES + tagBytes + lengthBytes));
    }

    private enum EtherType4Or6 {
        IPV4(EtherType.IPV4), IPV6(EtherType.IPV6);

        private final int etherType;

        EtherType4Or6(int etherType) {
            this.etherType = etherType;
        }
    }

    private interface Writer {
        int write(long ip);
    }

    /** Sends a SYN and a datagram. IPv6 packets go to the IPv6 address, even if the source is an IPv4 address. */
    private void send(String source, boolean ipv4, int tciOrNone) {
        IpAddress from = IpAddress.parse(source);
        EtherType4Or6 version = ipv4 ? EtherType4Or6.IPV4 : EtherType4Or6.IPV6;
        wire.write(frame(version, tciOrNone, ip -> syn(ip, from, ipv4)));
        wire.writeAndFlush(frame(version, tciOrNone, ip -> datagram(ip, from, ipv4)));
    }

    private static int datagram(long ip, IpAddress from, boolean ipv4) {
        int udpBytes = UdpHeader.LENGTH_BYTES + 4;
        int ipBytes = ipv4 ? Ipv4Header.MIN_LENGTH_BYTES : Ipv6Header.LENGTH_BYTES;
        if (ipv4) {
            Ipv4Header.write(ip, 0, ipBytes + udpBytes, 0, Ipv4Header.DONT_FRAGMENT, 64, IpProtocol.UDP, from.ipv4(),
                    LOCAL4.ipv4());
        } else {
            Ipv6Header.writeFixed(ip, 0, 0, udpBytes, IpProtocol.UDP, 64);
            Ipv6Header.setSource(ip, from.high(), from.low());
            Ipv6Header.setDestination(ip, LOCAL6.high(), LOCAL6.low());
        }
        UdpHeader.write(ip + ipBytes, PEER_PORT, PORT, udpBytes);
        if (!ipv4) {
            long pseudo = InternetChecksum.pseudoHeaderIpv6(ip, IpProtocol.UDP, udpBytes);
            NetworkOrder.putU16(ip + ipBytes + 6, InternetChecksum.finish(InternetChecksum.sum(ip + ipBytes, udpBytes,
                    pseudo)));
        }
        return ipBytes + udpBytes;
    }

    private static int syn(long ip, IpAddress from, boolean ipv4) {
        IpAddress to = ipv4 ? LOCAL4 : LOCAL6;
        Segment segment = new Segment().clear().source(from.high(), from.low(), PEER_PORT)
                .destination(to.high(), to.low(), PORT).seq(7).flags(TcpFlags.SYN).window(1000);
        if (ipv4 || !from.isIpv4()) {
            return TcpHeaderCodec.write(segment, ip, 0);
        }
        // The stack itself never writes an IPv4-mapped address into an IPv6 header.
        segment.source(LOCAL6.high(), LOCAL6.low(), PEER_PORT);
        int lengthBytes = TcpHeaderCodec.write(segment, ip, 0);
        Ipv6Header.setSource(ip, from.high(), from.low());
        long tcp = ip + Ipv6Header.LENGTH_BYTES;
        int tcpBytes = lengthBytes - Ipv6Header.LENGTH_BYTES;
        NetworkOrder.putU16(tcp + 16, 0);
        long pseudo = InternetChecksum.pseudoHeaderIpv6(ip, IpProtocol.TCP, tcpBytes);
        NetworkOrder.putU16(tcp + 16, InternetChecksum.finish(InternetChecksum.sum(tcp, tcpBytes, pseudo)));
        return lengthBytes;
    }

    private RdmaRawQueueStatistics queue() {
        return datagrams.deviceQueue().statistics();
    }

    private static long value(RdmaRawMetered counting, String name) {
        return counting.value(counting.metrics().stream().filter(metric -> metric.name().equals(name)).findFirst()
                .orElseThrow());
    }

    /**
     * Sums up a counter over the channel, the TCP stack and the host, which gets the frames that no flow rule matches.
     */
    private long counted(String name) {
        return queue().channels().values().stream().filter(each -> each.metrics().stream()
                .anyMatch(metric -> metric.name().equals(name))).mapToLong(each -> value(each, name)).sum();
    }

    private long received(String name) {
        return value(queue().channels().get("tcp"), name);
    }

    /** A valid frame sent after the others is delivered. It proves that the others have been processed. */
    private void goodOneComes() throws InterruptedException {
        send(GOOD, true, -1);
        InetSocketAddress sender = senders.poll(20, TimeUnit.SECONDS);
        assertNotNull(sender, "what is right comes");
        assertEquals(GOOD, sender.getAddress().getHostAddress());
    }

    @ParameterizedTest
    @ValueSource(strings = {"127.0.0.1", "0.0.0.5", "::1"})
    void impossibleSourceAddressesAreDropped(String source) throws InterruptedException {
        send(source, source.indexOf(':') < 0, -1);
        goodOneComes();
        assertEquals(2, counted("martian"));
        assertEquals(1, received("received.segments"), "the SYN that is right");
        assertTrue(senders.isEmpty());
    }

    /** IPv6 packets with IPv4-mapped sources are dropped: access lists would treat the senders as IPv4 hosts. */
    @ParameterizedTest
    @ValueSource(strings = {"10.13.0.7", "127.0.0.1"})
    void ipv4MappedSourcesAreDropped(String source) throws InterruptedException {
        send(source, false, -1);
        goodOneComes();
        assertEquals(2, counted("martian"));
        assertEquals(1, received("received.segments"));
    }

    /** A reply to the host's own address would return to the channel, in an endless loop if the channel answers. */
    @ParameterizedTest
    @ValueSource(strings = {"10.13.0.255", "10.13.0.1", "fd13::1"})
    void ownAndBroadcastSourcesAreDropped(String source) throws InterruptedException {
        send(source, source.indexOf(':') < 0, -1);
        goodOneComes();
        assertEquals(2, counted("martian"));
        assertEquals(1, received("received.segments"));
        assertTrue(senders.isEmpty());
    }

    @Test
    void framesOfVlansAreDropped() throws InterruptedException {
        send("10.13.0.7", true, 100);
        send("fd13::7", false, 0xa001);
        goodOneComes();
        assertEquals(4, counted("foreign-vlan"));
        assertEquals(1, received("received.segments"));
        send("10.13.0.8", true, 0xa000);
        InetSocketAddress sender = senders.poll(20, TimeUnit.SECONDS);
        assertNotNull(sender, "a tag with a priority alone is of no VLAN");
        goodOneComes();
        assertEquals(3, received("received.segments"));
    }

    /** RFC 9293 section 3.9.2.3, MUST-46: a connection to a multicast or broadcast address is refused. */
    @ParameterizedTest
    @ValueSource(strings = {"224.0.0.1", "255.255.255.255", "10.13.0.255", "ff02::1"})
    void connectionToGroupAddressIsRefused(String remote) {
        Throwable cause = new Bootstrap().group(group).channel(RdmaRawSocketChannel.class)
                .handler(new ChannelInboundHandlerAdapter()).connect(remote, 80).awaitUninterruptibly().cause();
        assertInstanceOf(NoRouteToHostException.class, cause);
        assertTrue(cause.getMessage().contains("a connection is to one"), cause::getMessage);
        assertEquals(0, received("sent.segments"));
    }
}
