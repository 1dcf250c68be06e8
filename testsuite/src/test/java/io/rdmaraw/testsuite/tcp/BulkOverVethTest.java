package io.rdmaraw.testsuite.tcp;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.rdmaraw.channel.RdmaRawEventLoopGroup;
import io.rdmaraw.channel.RdmaRawIoHandlerConfig;
import io.rdmaraw.channel.RdmaRawServerSocketChannel;
import io.rdmaraw.channel.RdmaRawSocketChannel;
import io.rdmaraw.testsuite.leak.LeakExtension;
import io.rdmaraw.testsuite.net.NetworkExtension;
import io.rdmaraw.testsuite.net.NetworkNamespace;
import io.rdmaraw.testsuite.net.RelayedPair;
import io.rdmaraw.testsuite.net.TestNetwork;
import io.rdmaraw.testsuite.sim.Impairment;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.concurrent.TimeUnit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

/**
 * Much data both ways at once between our TCP and the kernel's, over paths that lose and reorder; both ends compare
 * digests. {@code -Drdmaraw.bulkBytes=10g} sends more than the few megabytes of the ordinary run, and
 * {@code -Drdmaraw.bulkPath=REGEX} leaves out all paths but some, such as {@code xdp.loss=1%}.
 */
@ExtendWith({NetworkExtension.class, LeakExtension.class})
class BulkOverVethTest {
    private static final long BYTES = bytes(System.getProperty("rdmaraw.bulkBytes", "16m"));
    private static final String PATH = System.getProperty("rdmaraw.bulkPath", ".*");
    private static final long LIMIT_SECONDS = 60 + BYTES / 1_000_000;
    private static final long SEED = 7;

    private final BulkContent toPeer = new BulkContent(1);
    private final BulkContent toUs = new BulkContent(2);
    private EventLoopGroup ours;

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

    private RelayedPair open(TestNetwork network, String provider, String impairment) {
        assumeTrue((provider + ' ' + impairment).strip().matches(PATH), "another path was asked for");
        RelayedPair pair = network.withoutCapture().relayedPair(Impairment.parse(impairment), SEED);
        ours = new RdmaRawEventLoopGroup(1, network.current().threadFactory(),
                RdmaRawIoHandlerConfig.builder().ipDevice("soft:" + provider + ':' + pair.ours().name()).build());
        return pair;
    }

    @ParameterizedTest
    @CsvSource(delimiter = ';', value = {"packet;''", "packet;loss=0.1%", "xdp;''", "xdp;loss=0.1%", "xdp;loss=1%",
        "xdp;loss=5%", "xdp;reorder=2%/1ms", "xdp;loss=1%,reorder=2%/1ms"})
    void aClientOfTheKernel(String provider, String impairment, TestNetwork network) throws Exception {
        RelayedPair pair = open(network, provider, impairment);
        BulkHandler handler = new BulkHandler(toPeer, BYTES);
        Channel server = new ServerBootstrap().group(ours).channel(RdmaRawServerSocketChannel.class)
                .childOption(ChannelOption.ALLOW_HALF_CLOSURE, true).childHandler(handler)
                .bind(new InetSocketAddress(InetAddress.ofLiteral(pair.ours().ipv4()), 0)).sync().channel();
        InetSocketAddress at = (InetSocketAddress) server.localAddress();
        try (Socket socket = pair.peer().namespace().call(() -> new Socket(at.getAddress(), at.getPort()))) {
            exchange(pair, socket, handler, impairment);
        }
    }

    @ParameterizedTest
    @CsvSource(delimiter = ';', value = {"packet;''", "xdp;''", "xdp;loss=1%", "xdp;loss=5%", "xdp;reorder=2%/1ms"})
    void aServerOfTheKernel(String provider, String impairment, TestNetwork network) throws Exception {
        RelayedPair pair = open(network, provider, impairment);
        BulkHandler handler = new BulkHandler(toPeer, BYTES);
        NetworkNamespace peer = pair.peer().namespace();
        try (ServerSocket server = peer.call(() -> new ServerSocket(0))) {
            Channel client = new Bootstrap().group(ours).channel(RdmaRawSocketChannel.class)
                    .option(ChannelOption.ALLOW_HALF_CLOSURE, true).handler(handler)
                    .connect(InetAddress.ofLiteral(pair.peer().ipv4()), server.getLocalPort()).sync().channel();
            try (Socket socket = server.accept()) {
                exchange(pair, socket, handler, impairment);
            }
            client.close().sync();
        }
    }

    private void exchange(RelayedPair pair, Socket socket, BulkHandler handler, String impairment) throws Exception {
        long start = System.nanoTime();
        String peerReceived = new KernelBulk(socket, toUs, BYTES).run();
        String weReceived = handler.received().get(LIMIT_SECONDS, TimeUnit.SECONDS);
        double seconds = (System.nanoTime() - start) / 1e9;
        System.out.printf("%d bytes each way with '%s' in %.1f s; lost on the way %d and %d of %d and %d frames%n",
                BYTES, impairment, seconds, pair.relay().toRight().lost(), pair.relay().toLeft().lost(),
                pair.relay().toRight().received(), pair.relay().toLeft().received());
        assertEquals(toPeer.digest(BYTES), peerReceived);
        assertEquals(toUs.digest(BYTES), weReceived);
        if (impairment.contains("loss")) {
            assertTrue(pair.relay().toRight().lost() > 0 && pair.relay().toLeft().lost() > 0, "the path lost frames");
        }
    }
}
