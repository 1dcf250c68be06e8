package io.rdmaraw.testsuite.tcp;

import static io.rdmaraw.testsuite.tcp.TcpHost.address;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.epoll.EpollChannelOption;
import io.rdmaraw.channel.RdmaRawEventLoopGroup;
import io.rdmaraw.channel.RdmaRawIoHandlerConfig;
import io.rdmaraw.channel.RdmaRawServerSocketChannel;
import io.rdmaraw.channel.RdmaRawSocketChannel;
import io.rdmaraw.testsuite.leak.LeakExtension;
import io.rdmaraw.testsuite.net.Await;
import io.rdmaraw.testsuite.net.NetworkNamespace;
import io.rdmaraw.testsuite.net.TestNetwork;
import io.rdmaraw.testsuite.net.VethPair;
import io.rdmaraw.testsuite.net.WithTestNetwork;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.concurrent.TimeUnit;

/** Tests channels on addresses that the host does not have: floating ones (IP_FREEBIND), and IP_TRANSPARENT. */
@Timeout(120)
@WithTestNetwork
@ExtendWith(LeakExtension.class)
class ForeignAddressOverVethTest {
    private static final String FLOATING = "198.51.100.5";

    private NetworkNamespace host;
    private VethPair pair;
    private RdmaRawEventLoopGroup group;

    @BeforeEach
    void open(TestNetwork network) {
        host = network.namespace();
        pair = network.vethPair(host, network.namespace());
        group = new RdmaRawEventLoopGroup(2, host.threadFactory(),
                RdmaRawIoHandlerConfig.builder().device(device()).build());
        pair.peer().namespace().run("ip", "route", "add", FLOATING, "via", pair.ours().ipv4());
    }

    @AfterEach
    void close() {
        group.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
    }

    private String device() {
        return "soft:xdp:" + pair.ours().name();
    }

    @Test
    void deviceServesAddressThatComesAfterBind() throws Exception {
        Channel server = new ServerBootstrap().group(group).channel(RdmaRawServerSocketChannel.class)
                .childHandler(new TcpHost.Echo()).option(EpollChannelOption.IP_FREEBIND, true)
                .bind(address(FLOATING, 0)).sync().channel();
        int port = ((InetSocketAddress) server.localAddress()).getPort();
        host.run("ip", "addr", "add", FLOATING + "/32", "dev", pair.ours().name());
        Await.until("an answer from the new address", () -> answers(port));
        assertTrue(TcpHost.tcp(device(), "accepted.connections") > 0);
        assertEquals(0, TcpHost.tcp(device(), "kernel.connections"));
    }

    private boolean answers(int port) {
        try (Socket socket = TcpHost.socket(pair.peer().namespace(), FLOATING, port)) {
            TcpHost.exchange(socket, "hello");
            return true;
        } catch (IOException e) {
            return false;
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    /** The route of table 100 delivers packets for the foreign address to this host, as for a transparent proxy. */
    @Test
    void kernelCarriesClientWithForeignAddress() throws Exception {
        host.run("ip", "rule", "add", "iif", pair.ours().name(), "lookup", "100");
        host.run("ip", "route", "add", "local", FLOATING + "/32", "dev", "lo", "table", "100");
        try (ServerSocket server = pair.peer().namespace().call(() ->
                new ServerSocket(0, 50, InetAddress.ofLiteral(pair.peer().ipv4())))) {
            server.setSoTimeout(Await.PATIENCE_MILLIS);
            Channel client = new Bootstrap().group(group).channel(RdmaRawSocketChannel.class)
                    .option(EpollChannelOption.IP_TRANSPARENT, true).handler(new ChannelInboundHandlerAdapter())
                    .connect(address(pair.peer().ipv4(), server.getLocalPort()), address(FLOATING, 0)).sync()
                    .channel();
            try (Socket accepted = server.accept()) {
                assertEquals(FLOATING, accepted.getInetAddress().getHostAddress());
                assertEquals(accepted.getPort(), ((InetSocketAddress) client.localAddress()).getPort());
            }
            assertEquals(1, TcpHost.tcp(device(), "kernel.connections"));
            client.close().sync();
        }
    }
}
