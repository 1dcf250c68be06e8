package io.rdmaraw.testsuite.tcp;

import io.rdmaraw.channel.RdmaRawEventLoopGroup;
import io.rdmaraw.channel.RdmaRawIoHandlerConfig;
import io.rdmaraw.channel.RdmaRawServerSocketChannel;
import io.rdmaraw.testsuite.leak.LeakExtension;
import io.rdmaraw.testsuite.net.NetworkNamespace;
import io.rdmaraw.testsuite.net.TestNetwork;
import io.rdmaraw.testsuite.net.VethPair;
import io.rdmaraw.testsuite.net.WithTestNetwork;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

import java.net.Socket;
import java.util.concurrent.TimeUnit;

import static io.rdmaraw.testsuite.tcp.TcpHost.address;
import static org.junit.jupiter.api.Assertions.assertTrue;

/**
 * Tests a userspace host behind a router that fragments the segments of a Linux peer, because its route to the host has
 * a smaller MTU. The host must reassemble the segments and serve the connection as usual.
 */
@WithTestNetwork
@ExtendWith(LeakExtension.class)
class UserspaceHostFragmentsOverVethTest {
    private static final String IPV4 = "203.0.113.77";
    private static final String IPV6 = "fd77::77";
    private static final String LONG = "0123456789".repeat(20_000);

    private NetworkNamespace host;
    private NetworkNamespace far;
    private VethPair near;
    private RdmaRawEventLoopGroup group;

    @BeforeEach
    void open(TestNetwork network) {
        host = network.namespace();
        NetworkNamespace router = network.namespace();
        far = network.namespace();
        near = network.vethPair(host, router);
        VethPair second = network.vethPair(router, far);
        router.run("sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1");
        router.run("ip", "addr", "add", "203.0.113.1/24", "dev", near.peer().name());
        router.run("ip", "-6", "addr", "add", "fd77::1/64", "dev", near.peer().name(), "nodad");
        // Link-local addresses, from which the router sends neighbour solicitations.
        router.run("ip", "-6", "addr", "add", "fe80::2/64", "dev", near.peer().name(), "nodad");
        router.run("ip", "-6", "addr", "add", "fe80::2/64", "dev", second.ours().name(), "nodad");
        far.run("ip", "-6", "addr", "add", "fe80::3/64", "dev", second.peer().name(), "nodad");
        // The peer sends segments without DF, which the router fragments.
        far.run("sysctl", "-qw", "net.ipv4.ip_no_pmtu_disc=1");
        router.run("ip", "route", "add", IPV4, "dev", near.peer().name(), "mtu", "lock", "1000");
        far.run("ip", "route", "add", "203.0.113.0/24", "via", second.ours().ipv4());
        far.run("ip", "-6", "route", "add", "fd77::/64", "via", second.ours().ipv6());
        group = new RdmaRawEventLoopGroup(2, host.threadFactory(), RdmaRawIoHandlerConfig.builder()
                .device(device()).userspaceAddress("02:00:00:0a:00:05", IPV4 + "/24", "203.0.113.1")
                .userspaceAddress("02:00:00:0a:00:05", IPV6 + "/64", "fd77::1")
                .detectDuplicateAddresses(false).build());
    }

    @AfterEach
    void close() {
        group.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
    }

    private String device() {
        return "soft:xdp:" + near.ours().name();
    }

    /** Tests IPv4 only: over IPv6, Linux adapts its segments to the path, and only other senders fragment them. */
    @Test
    void fragmentedUploadIsEchoed() throws Exception {
        RdmaRawServerSocketChannel server = TcpHost.listen(group, group, address("0.0.0.0", 0), new TcpHost.Echo());
        for (int i = 0; i < 4; i++) {
            try (Socket socket = TcpHost.socket(far, IPV4, server.localAddress().getPort())) {
                TcpHost.exchange(socket, LONG);
            }
        }
        long reassembled = TcpHost.counted(device(), "host", "reassembled");
        assertTrue(reassembled > 4 * LONG.length() / 1500, () -> reassembled + " segments came in fragments");
    }
}
