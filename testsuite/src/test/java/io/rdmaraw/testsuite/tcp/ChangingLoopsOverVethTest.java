package io.rdmaraw.testsuite.tcp;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.EventLoopGroup;
import io.rdmaraw.channel.RdmaRawChannelOption;
import io.rdmaraw.channel.RdmaRawEventLoopGroup;
import io.rdmaraw.channel.RdmaRawIoHandlerConfig;
import io.rdmaraw.channel.RdmaRawServerSocketChannel;
import io.rdmaraw.testsuite.leak.LeakExtension;
import io.rdmaraw.testsuite.net.Await;
import io.rdmaraw.testsuite.net.NetworkNamespace;
import io.rdmaraw.testsuite.net.TestNetwork;
import io.rdmaraw.testsuite.net.VethPair;
import io.rdmaraw.testsuite.net.WithTestNetwork;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

import static io.rdmaraw.testsuite.tcp.TcpHost.address;
import static io.rdmaraw.testsuite.tcp.TcpHost.exchange;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

/**
 * Loops that join and leave a port while connections to it are in use: the hash leads elsewhere, and nobody notices.
 */
@Timeout(180)
@WithTestNetwork
@ExtendWith(LeakExtension.class)
class ChangingLoopsOverVethTest {
    private static final int SERVERS = 4;
    private static final int CONNECTIONS_EACH = 16;

    private NetworkNamespace host;
    private VethPair pair;
    private String device;
    private final TcpHost.Echo echo = new TcpHost.Echo();
    private final List<EventLoopGroup> groups = new ArrayList<>();
    private final List<Socket> sockets = new ArrayList<>();

    @BeforeEach
    void open(TestNetwork network) {
        host = network.namespace();
        pair = network.vethPair(host, network.namespace());
    }

    @AfterEach
    void close() throws Exception {
        for (Socket socket : sockets) {
            socket.close();
        }
        groups.forEach(group -> group.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly());
    }

    /** A server on a loop of its own that shares the port with others; 0 for a new port. */
    private Channel join(int port) throws InterruptedException {
        EventLoopGroup group = new RdmaRawEventLoopGroup(1, host.threadFactory(),
                RdmaRawIoHandlerConfig.builder().ipDevice(device).build());
        groups.add(group);
        return new ServerBootstrap().group(group).channel(RdmaRawServerSocketChannel.class)
                .option(RdmaRawChannelOption.SO_REUSEPORT, true).childHandler(echo)
                .bind(address(pair.ours().ipv4(), port)).sync().channel();
    }

    private Socket connect(int port) throws Exception {
        Socket socket = TcpHost.socket(pair.peer().namespace(), pair.ours().ipv4(), port);
        sockets.add(socket);
        return socket;
    }

    /** Asks on all connections; each answer is longer than what a burst brings. */
    private void useAll(String text) throws IOException {
        for (Socket socket : sockets) {
            exchange(socket, text.repeat(3000));
        }
    }

    private long count(String name) {
        return TcpHost.tcp(device, name);
    }

    @ParameterizedTest
    @ValueSource(strings = {"soft:packet:", "soft:xdp:"})
    void connectionsOutliveEveryChange(String provider) throws Exception {
        device = provider + pair.ours().name();
        List<Channel> servers = new ArrayList<>();
        int port = 0;
        for (int i = 0; i < SERVERS; i++) {
            Channel server = join(port);
            servers.add(server);
            port = ((InetSocketAddress) server.localAddress()).getPort();
            useAll("joined");
            for (int c = 0; c < CONNECTIONS_EACH; c++) {
                connect(port);
            }
            useAll("and more");
        }
        long found = count("found.segments");
        assertTrue(found > 0, "segments came to other loops than before");
        assertTrue(count("forwarded.segments") > found, "what follows goes to the connection's loop at once");
        assertEquals(SERVERS * CONNECTIONS_EACH, count("accepted.connections"));
        // A server that closes takes its loop out of the rule when its last connection has ended.
        List<Channel> children = new ArrayList<>();
        echo.channels.drainTo(children);
        assertEquals(SERVERS * CONNECTIONS_EACH, children.size());
        servers.getFirst().close().sync();
        useAll("one server less");
        // The hash still leads to the loop of the one that has closed.
        for (int c = 0; c < CONNECTIONS_EACH; c++) {
            exchange(connect(port), "to the others");
        }
        assertEquals((SERVERS + 1) * CONNECTIONS_EACH, count("accepted.connections"));
        List<Socket> before = List.copyOf(sockets);
        sockets.clear();
        for (int i = 0; i < before.size(); i++) {
            Socket socket = before.get(i);
            if (i % 2 == 0) {
                socket.shutdownOutput();
                assertEquals(-1, socket.getInputStream().read());
                socket.close();
            } else {
                sockets.add(socket);
            }
        }
        useAll("half of them");
        assertEquals(0, count("resets.sent"));
        assertEquals(0, count("no-connection"));
        assertEquals(0, count("unmatched"));
        for (Socket socket : sockets) {
            socket.close();
        }
        Await.until("all connections to end", () -> count("connections") == 0);
        assertEquals(0, count("resets.received"));
    }
}
