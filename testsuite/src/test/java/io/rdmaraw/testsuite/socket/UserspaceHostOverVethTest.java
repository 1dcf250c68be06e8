package io.rdmaraw.testsuite.socket;

import io.netty.bootstrap.Bootstrap;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.IoEventLoopGroup;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.socket.DatagramPacket;
import io.rdmaraw.channel.RdmaRawDatagramChannel;
import io.rdmaraw.channel.RdmaRawEventLoopGroup;
import io.rdmaraw.channel.RdmaRawIoHandlerConfig;
import io.rdmaraw.testsuite.leak.LeakExtension;
import io.rdmaraw.testsuite.net.Await;
import io.rdmaraw.testsuite.net.NetworkNamespace;
import io.rdmaraw.testsuite.net.TestNetwork;
import io.rdmaraw.testsuite.net.VethPair;
import io.rdmaraw.testsuite.net.WithTestNetwork;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.net.PortUnreachableException;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.TimeUnit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

/** A userspace host shares a veth interface with the kernel's host. The peer is the Linux kernel. */
@WithTestNetwork
@ExtendWith(LeakExtension.class)
class UserspaceHostOverVethTest {
    private static final String GATEWAY = "203.0.113.1";
    private static final String IPV4 = "203.0.113.77";
    private static final String IPV6 = "fd77::77";
    private static final String MAC = "02:00:00:0a:00:05";

    private NetworkNamespace host;
    private NetworkNamespace peer;
    private VethPair pair;
    private IoEventLoopGroup group;

    @BeforeEach
    void open(TestNetwork network) {
        host = network.namespace();
        peer = network.namespace();
        pair = network.vethPair(host, peer);
        // The subnets of the fixture are too small for a third host.
        peer.run("ip", "addr", "add", GATEWAY + "/24", "dev", pair.peer().name());
        peer.run("ip", "-6", "addr", "add", "fd77::1/64", "dev", pair.peer().name(), "nodad");
    }

    @AfterEach
    void close() {
        group.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
    }

    private RdmaRawDatagramChannel server(String provider, boolean detect) throws InterruptedException {
        group = new RdmaRawEventLoopGroup(2, host.threadFactory(), RdmaRawIoHandlerConfig.builder()
                .device(provider + pair.ours().name())
                .userspaceAddress(MAC, IPV4 + "/24", GATEWAY).userspaceAddress(MAC, IPV6 + "/64", null)
                .detectDuplicateAddresses(detect).build());
        return (RdmaRawDatagramChannel) new Bootstrap().group(group).channel(RdmaRawDatagramChannel.class)
                .handler(new Echo()).bind(0).sync().channel();
    }

    @ChannelHandler.Sharable
    private static final class Echo extends SimpleChannelInboundHandler<DatagramPacket> {
        @Override
        protected void channelRead0(ChannelHandlerContext ctx, DatagramPacket packet) {
            ctx.writeAndFlush(new DatagramPacket(packet.content().retain(), packet.sender()));
        }
    }

    private void echoes(String address, int port, String text) throws Exception {
        try (DatagramSocket socket = peer.call(DatagramSocket::new)) {
            socket.setSoTimeout(Await.PATIENCE_MILLIS);
            byte[] bytes = text.getBytes(StandardCharsets.US_ASCII);
            socket.send(new java.net.DatagramPacket(bytes, bytes.length, InetAddress.ofLiteral(address), port));
            java.net.DatagramPacket answer = new java.net.DatagramPacket(new byte[65535], 65535);
            socket.receive(answer);
            assertEquals(text, new String(answer.getData(), 0, answer.getLength(), StandardCharsets.US_ASCII));
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"soft:packet:", "soft:xdp:"})
    void theKernelFindsPingsAndAsksTheHost(String provider) throws Exception {
        RdmaRawDatagramChannel server = server(provider, false);
        int port = server.localAddress().getPort();
        for (String address : new String[] {IPV4, IPV6}) {
            peer.run("ping", "-c", "3", "-i", "0.2", "-W", "5", address);
            echoes(address, port, "question");
            echoes(address, port, "0123456789".repeat(500));
            try (DatagramSocket socket = peer.call(DatagramSocket::new)) {
                socket.setSoTimeout(Await.PATIENCE_MILLIS);
                socket.connect(new InetSocketAddress(InetAddress.ofLiteral(address), 9));
                socket.send(new java.net.DatagramPacket(new byte[1], 1));
                assertThrows(PortUnreachableException.class,
                        () -> socket.receive(new java.net.DatagramPacket(new byte[1], 1)));
            }
        }
        assertTrue(peer.run("ip", "neigh").output().contains(MAC));
        // The kernel's own addresses on the interface still work.
        peer.run("ping", "-c", "1", "-W", "5", pair.ours().ipv4());
        peer.run("ping", "-c", "1", "-W", "5", pair.ours().ipv6());
    }

    @ParameterizedTest
    @ValueSource(strings = {"soft:xdp:"})
    void packetsToOtherNetworksGoToTheGateway(String provider) throws Exception {
        peer.run("ip", "addr", "add", "192.0.2.1/32", "dev", "lo");
        peer.run("ip", "route", "add", IPV4, "dev", pair.peer().name(), "src", "192.0.2.1");
        RdmaRawDatagramChannel server = server(provider, false);
        echoes(IPV4, server.localAddress().getPort(), "from afar");
    }

    /**
     * The peer's bridge acts as a switch with IGMP and MLD snooping and a querier. It must learn of each membership, in
     * the protocol versions with and without sources.
     */
    @ParameterizedTest
    @ValueSource(strings = {"3, 2", "2, 1"})
    void switchLearnsGroupMemberships(String versions) throws Exception {
        String bridge = bridge(versions.split(", "));
        RdmaRawDatagramChannel member = server("soft:xdp:", false);
        NetworkInterface link = host.call(() -> NetworkInterface.getByName(pair.ours().name()));
        boolean newest = versions.startsWith("3");
        for (String group : new String[] {"239.7.7.7", "ff15::777"}) {
            boolean ipv4 = group.indexOf(':') < 0;
            InetAddress address = InetAddress.ofLiteral(group);
            member.joinGroup(address).sync();
            awaitMembership(bridge, group, true);
            member.leaveGroup(address).sync();
            awaitMembership(bridge, group, false);
            if (newest) {
                String source = ipv4 ? GATEWAY : "fd77::1";
                member.joinGroup(address, link, InetAddress.ofLiteral(source)).sync();
                awaitMembership(bridge, "src " + source, true);
                member.leaveGroup(address, link, InetAddress.ofLiteral(source)).sync();
                awaitMembership(bridge, "src " + source, false);
            }
        }
        // Delete the membership at the switch. Only a reply to its next query restores it.
        member.joinGroup(InetAddress.ofLiteral("239.7.7.8")).sync();
        member.joinGroup(InetAddress.ofLiteral("ff15::778")).sync();
        for (String group : new String[] {"239.7.7.8", "ff15::778"}) {
            awaitMembership(bridge, group, true);
            peer.run("bridge", "mdb", "del", "dev", bridge, "port", pair.peer().name(), "grp", group, "temp");
            awaitMembership(bridge, group, true);
        }
        if (newest) {
            // The solicited-node group of the host's address, which the host must join (RFC 4862 section 5.4.2).
            awaitMembership(bridge, "ff02::1:ff00:77", true);
        }
    }

    /** Moves the peer's end and its addresses into a bridge. Returns the bridge's name. */
    private String bridge(String[] versions) {
        String bridge = "br0";
        peer.run("ip", "link", "add", bridge, "type", "bridge", "mcast_snooping", "1", "mcast_querier", "1",
                "mcast_igmp_version", versions[0], "mcast_mld_version", versions[1], "mcast_query_interval", "100",
                "mcast_query_response_interval", "50", "mcast_startup_query_interval", "100");
        peer.run("ip", "link", "set", pair.peer().name(), "master", bridge);
        peer.run("ip", "addr", "flush", "dev", pair.peer().name());
        peer.run("ip", "addr", "add", GATEWAY + "/24", "dev", bridge);
        // MLD queries need a link-local source address.
        peer.run("ip", "-6", "addr", "add", "fe80::77/64", "dev", bridge, "nodad");
        peer.run("ip", "-6", "addr", "add", "fd77::1/64", "dev", bridge, "nodad");
        peer.run("ip", "link", "set", bridge, "up");
        return bridge;
    }

    private void awaitMembership(String bridge, String text, boolean there) {
        Await.until("the switch " + (there ? "to know of " : "to forget ") + text, () -> {
            String table = peer.run("bridge", "-d", "mdb", "show", "dev", bridge).output();
            return table.lines().anyMatch(line -> line.contains("port " + pair.peer().name())
                    && (line + ' ').contains(text + ' ')) == there;
        });
    }

    /** Duplicate address detection (RFC 5227, RFC 4862): the host does not use an address that the peer has. */
    @ParameterizedTest
    @ValueSource(strings = {"soft:xdp:"})
    void anAddressThatTheKernelHasIsGivenUp(String provider) throws Exception {
        peer.run("ip", "addr", "add", IPV4 + "/24", "dev", pair.peer().name());
        RdmaRawDatagramChannel server = server(provider, true);
        int port = server.localAddress().getPort();
        Await.until("the address that nobody else has to be ours",
                () -> peer.attempt("ping", "-c", "1", "-W", "1", IPV6).exitCode() == 0);
        echoes(IPV6, port, "mine");
        peer.run("ip", "addr", "del", IPV4 + "/24", "dev", pair.peer().name());
        assertTrue(peer.attempt("ping", "-c", "2", "-i", "0.2", "-W", "1", IPV4).exitCode() != 0,
                "nobody answers for the address that was given up");
    }
}
