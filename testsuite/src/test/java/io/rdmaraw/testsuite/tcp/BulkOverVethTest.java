package io.rdmaraw.testsuite.tcp;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.rdmaraw.channel.RdmaRawEventLoopGroup;
import io.rdmaraw.channel.RdmaRawIoHandlerConfig;
import io.rdmaraw.channel.RdmaRawServerSocketChannel;
import io.rdmaraw.channel.RdmaRawSocketChannel;
import io.rdmaraw.testsuite.leak.LeakExtension;
import io.rdmaraw.testsuite.net.ImpairedPair;
import io.rdmaraw.testsuite.net.LinkEmulatorCounters;
import io.rdmaraw.testsuite.net.TestNetwork;
import io.rdmaraw.testsuite.net.WithTestNetwork;
import io.rdmaraw.testsuite.sim.Impairment;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

/**
 * Transfers bulk data in both directions at once between this transport and the kernel, over paths with loss and
 * reordering. Both ends compare digests.
 *
 * <ul>
 * <li>{@code -Drdmaraw.bulkBytes=10g} sends more than the default of a few megabytes.
 * <li>{@code -Drdmaraw.bulkConnections=32} divides the bytes among connections. With high loss, a single
 * connection mostly waits for timeouts, as the kernel's does with the same congestion control.
 * <li>{@code -Drdmaraw.bulkPath=REGEX} selects paths, such as {@code xdp.loss=1%}.
 * </ul>
 */
@WithTestNetwork
@ExtendWith(LeakExtension.class)
class BulkOverVethTest {
    private static final int CONNECTIONS = Integer.getInteger("rdmaraw.bulkConnections", 1);
    /** Bytes per connection and direction. */
    private static final long BYTES = bytes(System.getProperty("rdmaraw.bulkBytes", "16m")) / CONNECTIONS;
    private static final String PATH = System.getProperty("rdmaraw.bulkPath", ".*");
    private static final long LIMIT_SECONDS = 60 + CONNECTIONS * BYTES / 1_000_000;
    private static final long SEED = 7;

    private final List<Exchange> exchanges = new ArrayList<>();
    private EventLoopGroup ours;

    /** One connection with its own content. */
    private static final class Exchange {
        private final BulkContent toPeer;
        private final BulkContent toUs;
        private final BulkHandler handler;
        private Socket socket;
        private FutureTask<String> peerReceived;

        Exchange(int number) {
            toPeer = new BulkContent(2 * number + 1);
            toUs = new BulkContent(2 * number + 2);
            handler = new BulkHandler(toPeer, BYTES);
        }

        void start(Socket connected) {
            socket = connected;
            peerReceived = new FutureTask<>(() -> new KernelBulk(socket, toUs, BYTES).run());
            Thread.ofPlatform().daemon().name("kernel's sender").start(peerReceived);
        }

        void check() throws Exception {
            assertEquals(toPeer.digest(BYTES), peerReceived.get(LIMIT_SECONDS, TimeUnit.SECONDS));
            assertEquals(toUs.digest(BYTES), handler.received().get(LIMIT_SECONDS, TimeUnit.SECONDS));
            socket.close();
        }
    }

    @AfterEach
    void shutDown() {
        if (ours != null) {
            ours.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
        }
    }

    private static long bytes(String text) {
        int power = "kmg".indexOf(Character.toLowerCase(text.charAt(text.length() - 1))) + 1;
        String number = power == 0 ? text : text.substring(0, text.length() - 1);
        return Long.parseLong(number) * (long) Math.pow(1000, power);
    }

    private ImpairedPair open(TestNetwork network, String provider, String impairment) {
        assumeTrue((provider + ' ' + impairment).strip().matches(PATH), "another path was asked for");
        ImpairedPair pair = network.withoutCapture().impairedPair(Impairment.parse(impairment), SEED);
        ours = new RdmaRawEventLoopGroup(1, network.current().threadFactory(),
                RdmaRawIoHandlerConfig.builder().device("soft:" + provider + ':' + pair.ours().name()).build());
        for (int i = 0; i < CONNECTIONS; i++) {
            exchanges.add(new Exchange(i));
        }
        return pair;
    }

    @ParameterizedTest
    @CsvSource(delimiter = ';', value = {"packet;''", "packet;loss=0.1%", "xdp;''", "xdp;loss=0.1%", "xdp;loss=1%",
        "xdp;loss=5%", "xdp;reorder=2%/1ms", "xdp;loss=1%,reorder=2%/1ms"})
    void kernelClientExchangesBulkData(String provider, String impairment, TestNetwork network) throws Exception {
        ImpairedPair pair = open(network, provider, impairment);
        Map<Integer, Exchange> byClientPort = new ConcurrentHashMap<>();
        Channel server = new ServerBootstrap().group(ours).channel(RdmaRawServerSocketChannel.class)
                .childOption(ChannelOption.ALLOW_HALF_CLOSURE, true).childHandler(new ChannelInitializer<>() {
                    @Override
                    protected void initChannel(Channel child) {
                        int port = ((InetSocketAddress) child.remoteAddress()).getPort();
                        child.pipeline().addLast(byClientPort.get(port).handler);
                    }
                }).bind(new InetSocketAddress(InetAddress.ofLiteral(pair.ours().ipv4()), 0)).sync().channel();
        InetSocketAddress at = (InetSocketAddress) server.localAddress();
        compare(pair, impairment, exchange -> {
            // Connections may be accepted in another order than opened, because the last ACK of a handshake may
            // be lost.
            Socket socket = pair.peer().namespace().call(() -> {
                Socket bound = new Socket();
                bound.bind(null);
                return bound;
            });
            byClientPort.put(socket.getLocalPort(), exchange);
            socket.connect(at);
            exchange.start(socket);
        });
    }

    @ParameterizedTest
    @CsvSource(delimiter = ';', value = {"packet;''", "xdp;''", "xdp;loss=1%", "xdp;loss=5%", "xdp;reorder=2%/1ms"})
    void kernelServerExchangesBulkData(String provider, String impairment, TestNetwork network) throws Exception {
        ImpairedPair pair = open(network, provider, impairment);
        try (ServerSocket server = pair.peer().namespace().call(() -> new ServerSocket(0))) {
            compare(pair, impairment, exchange -> {
                new Bootstrap().group(ours).channel(RdmaRawSocketChannel.class)
                        .option(ChannelOption.ALLOW_HALF_CLOSURE, true).handler(exchange.handler)
                        .connect(InetAddress.ofLiteral(pair.peer().ipv4()), server.getLocalPort()).sync();
                exchange.start(server.accept());
            });
        }
    }

    /** Opens the connection of an exchange. */
    private interface Starter {
        void start(Exchange exchange) throws Exception;
    }

    private void compare(ImpairedPair pair, String impairment, Starter starter) throws Exception {
        long start = System.nanoTime();
        for (Exchange exchange : exchanges) {
            starter.start(exchange);
        }
        for (Exchange exchange : exchanges) {
            exchange.check();
        }
        double seconds = (System.nanoTime() - start) / 1e9;
        LinkEmulatorCounters toRight = pair.emulator().toRight();
        LinkEmulatorCounters toLeft = pair.emulator().toLeft();
        System.out.printf("%d bytes each way on each of %d connections with '%s' in %.1f s; lost on the way %d and %d"
                + " of %d and %d frames%n", BYTES, CONNECTIONS, impairment, seconds, toRight.lost(), toLeft.lost(),
                toRight.received(), toLeft.received());
        if (impairment.contains("loss")) {
            assertTrue(toRight.lost() > 0 && toLeft.lost() > 0, "the path lost frames");
        }
    }
}
