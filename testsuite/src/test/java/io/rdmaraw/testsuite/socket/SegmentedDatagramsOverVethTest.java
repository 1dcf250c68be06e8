package io.rdmaraw.testsuite.socket;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBufUtil;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.socket.DatagramPacket;
import io.rdmaraw.channel.RdmaRawDatagramChannel;
import io.rdmaraw.channel.RdmaRawEventLoopGroup;
import io.rdmaraw.channel.RdmaRawIoHandlerConfig;
import io.rdmaraw.testsuite.leak.LeakExtension;
import io.rdmaraw.testsuite.net.Await;
import io.rdmaraw.testsuite.net.Offloads;
import io.rdmaraw.testsuite.net.TestNetwork;
import io.rdmaraw.testsuite.net.VethPair;
import io.rdmaraw.testsuite.net.WithTestNetwork;
import io.rdmaraw.testsuite.tcp.SoftDevice;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/**
 * Datagrams that a peer's kernel sends as one large packet (UDP segmentation, used by QUIC stacks) arrive separately.
 */
@Timeout(120)
@WithTestNetwork
@ExtendWith(LeakExtension.class)
class SegmentedDatagramsOverVethTest {
    private static final Path CLIENT = Path.of("src/test/python/segmented_datagrams.py").toAbsolutePath();
    private static final int PATTERN_PERIOD = 251;

    private final BlockingQueue<byte[]> received = new LinkedBlockingQueue<>();
    private EventLoopGroup group;

    @AfterEach
    void shutDown() {
        SoftDevice.restore();
        if (group != null) {
            group.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
        }
    }

    @ParameterizedTest
    @CsvSource({"PACKET,4,AS_MADE", "PACKET,6,AS_MADE", "PACKET,4,OFF", "XDP_GENERIC,4,OFF", "XDP_GENERIC,6,OFF",
        "XDP_NATIVE,4,AS_MADE", "XDP_NATIVE,6,AS_MADE", "XDP_NATIVE,4,OFF", "XDP_TAP,4,OFF", "XDP_TAP,6,OFF"})
    void arriveAsTheyAre(SoftDevice kind, int version, Offloads offloads, TestNetwork network) throws Exception {
        VethPair pair = network.withoutCapture().offloads(offloads).vethPair(network.namespace(), network.namespace());
        assumeTrue(pair.peer().namespace().attempt("python3", "--version").exitCode() == 0,
                "needs python3: apt-get install python3");
        group = new RdmaRawEventLoopGroup(1, pair.ours().namespace().threadFactory(),
                RdmaRawIoHandlerConfig.builder().device(kind.on(pair.ours().name())).build());
        String address = version == 4 ? pair.ours().ipv4() : pair.ours().ipv6();
        int port = ((InetSocketAddress) new Bootstrap().group(group).channel(RdmaRawDatagramChannel.class)
                .handler(new Receiver()).bind(new InetSocketAddress(InetAddress.ofLiteral(address), 0)).sync()
                .channel().localAddress()).getPort();
        for (int[] each : new int[][] {{1200, 37, 1}, {1200, 1200, 50}, {1400, 1, 45}, {100, 100, 63}, {1, 1, 20}}) {
            send(pair, address, port, each[0], each[1], each[2]);
            for (int n = 0; n <= each[2]; n++) {
                byte[] datagram = received.poll(Await.PATIENCE_MILLIS, TimeUnit.MILLISECONDS);
                assertNotNull(datagram, "datagram " + n + " of " + each[2] + " has not come");
                assertArrayEquals(pattern(n, n < each[2] ? each[0] : each[1]), datagram);
            }
        }
        assertNull(received.poll(), "one more came than was sent");
    }

    private static void send(VethPair pair, String address, int port, int segmentBytes, int lastBytes, int count) {
        pair.peer().namespace().run("python3", CLIENT.toString(), address, Integer.toString(port),
                Integer.toString(segmentBytes), Integer.toString(lastBytes), Integer.toString(count));
    }

    private static byte[] pattern(int number, int bytes) {
        byte[] pattern = new byte[bytes];
        for (int i = 0; i < bytes; i++) {
            pattern[i] = (byte) ((number + i) % PATTERN_PERIOD);
        }
        return pattern;
    }

    private final class Receiver extends SimpleChannelInboundHandler<DatagramPacket> {
        @Override
        protected void channelRead0(ChannelHandlerContext ctx, DatagramPacket packet) {
            received.add(ByteBufUtil.getBytes(packet.content()));
        }
    }
}
