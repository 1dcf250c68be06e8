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
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;

import static io.rdmaraw.testsuite.tcp.TcpHost.address;
import static io.rdmaraw.testsuite.tcp.TcpHost.exchange;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

/**
 * Loops join and leave a port while its connections are in use. The hash then selects other loops, and the
 * connections must continue undisturbed.
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

    /** Binds a server on a separate loop that shares the port with others; port 0 selects a new port. */
    private Channel join(int port) throws InterruptedException {
        EventLoopGroup group = new RdmaRawEventLoopGroup(1, host.threadFactory(),
                RdmaRawIoHandlerConfig.builder().device(device).build());
        groups.add(group);
        return join(group, port);
    }

    private Channel join(EventLoopGroup group, int port) throws InterruptedException {
        return new ServerBootstrap().group(group).channel(RdmaRawServerSocketChannel.class)
                .option(RdmaRawChannelOption.SO_REUSEPORT, true).childHandler(echo)
                .bind(address(pair.ours().ipv4(), port)).sync().channel();
    }

    private Socket connect(int port) throws Exception {
        Socket socket = TcpHost.socket(pair.peer().namespace(), pair.ours().ipv4(), port);
        sockets.add(socket);
        return socket;
    }

    /** Uses all connections. Each response is longer than the data received in one burst. */
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
    void connectionsSurviveJoiningAndLeavingLoops(String provider) throws Exception {
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
        // A closed server's loop leaves the rule when its last connection has ended.
        List<Channel> children = new ArrayList<>();
        echo.channels.drainTo(children);
        assertEquals(SERVERS * CONNECTIONS_EACH, children.size());
        servers.getFirst().close().sync();
        useAll("one server less");
        // The hash still selects the loop of the closed server.
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

    /** The rules of a server stay in force while its connections live, and the next one needs the same rules. */
    @ParameterizedTest
    @ValueSource(strings = {"soft:packet:", "soft:xdp:"})
    void serversWithAndWithoutReusePortFollowEachOtherWhileConnectionsLive(String provider) throws Exception {
        device = provider + pair.ours().name();
        EventLoopGroup group = new RdmaRawEventLoopGroup(2, host.threadFactory(),
                RdmaRawIoHandlerConfig.builder().device(device).build());
        groups.add(group);
        int port = 0;
        int accepted = 0;
        for (boolean reusePort : new boolean[] {true, false, true, true, false, false}) {
            Channel server = new ServerBootstrap().group(group).channel(RdmaRawServerSocketChannel.class)
                    .option(RdmaRawChannelOption.SO_REUSEPORT, reusePort).childHandler(echo)
                    .bind(address(pair.ours().ipv4(), port)).sync().channel();
            port = ((InetSocketAddress) server.localAddress()).getPort();
            for (int i = 0; i < CONNECTIONS_EACH; i++) {
                exchange(connect(port), "new");
            }
            accepted += CONNECTIONS_EACH;
            assertEquals(accepted, count("accepted.connections"));
            server.close().sync();
            useAll("still there");
        }
    }

    /** Handshakes under way are reset, as by Linux. */
    @ParameterizedTest
    @ValueSource(strings = {"soft:packet:", "soft:xdp:"})
    void noClientIsRefusedWhileOneOfTwoServersCloses(String provider) throws Exception {
        device = provider + pair.ours().name();
        Channel[] servers = {join(0), null};
        int port = ((InetSocketAddress) servers[0].localAddress()).getPort();
        servers[1] = join(port);
        AtomicInteger refused = new AtomicInteger();
        AtomicInteger served = new AtomicInteger();
        AtomicBoolean done = new AtomicBoolean();
        List<Thread> clients = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            clients.add(Thread.ofPlatform().start(() -> {
                while (!done.get()) {
                    try (Socket socket = TcpHost.socket(pair.peer().namespace(), pair.ours().ipv4(), port)) {
                        exchange(socket, "to either");
                        served.incrementAndGet();
                    } catch (ConnectException e) {
                        refused.incrementAndGet();
                    } catch (Exception e) {
                        // Its connection was reset.
                    }
                }
            }));
        }
        for (int i = 0; i < 16; i++) {
            int before = served.get();
            Await.until("clients to be served", () -> served.get() > before + 20);
            Channel closing = servers[i % 2];
            closing.close().sync();
            servers[i % 2] = join(groups.get(i % 2), port);
        }
        done.set(true);
        for (Thread client : clients) {
            client.join();
        }
        assertEquals(0, refused.get(), "refused, " + served.get() + " served");
    }
}
