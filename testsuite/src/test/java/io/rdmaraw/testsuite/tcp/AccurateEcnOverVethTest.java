package io.rdmaraw.testsuite.tcp;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.rdmaraw.channel.RdmaRawEventLoopGroup;
import io.rdmaraw.channel.RdmaRawIoHandlerConfig;
import io.rdmaraw.channel.RdmaRawSocketChannel;
import io.rdmaraw.channel.RdmaRawTcpSettings;
import io.rdmaraw.testsuite.leak.LeakExtension;
import io.rdmaraw.testsuite.net.Await;
import io.rdmaraw.testsuite.net.NetworkNamespace;
import io.rdmaraw.testsuite.net.PeerProcess;
import io.rdmaraw.testsuite.net.TestNetwork;
import io.rdmaraw.testsuite.net.VethPair;
import io.rdmaraw.testsuite.net.WithTestNetwork;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import static io.rdmaraw.testsuite.tcp.TcpHost.address;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

/** Tests AccECN (RFC 9768) between this transport and a kernel that supports it. */
@Timeout(120)
@WithTestNetwork
@ExtendWith(LeakExtension.class)
class AccurateEcnOverVethTest {
    private static final int PORT = 4711;
    private static final int BYTES = 4_000_000;
    private static final int BLOCK_BYTES = 10_000;
    /**
     * tcpdump filters for the flags AE, CWR and ECE, which are the last bit of byte 12 and the first two bits of
     * byte 13.
     */
    private static final String SYN_ASKS = "tcp[12] & 1 = 1 and tcp[13] = 0xc2";
    private static final String SYN_ACK_AGREES = "tcp[12] & 1 = 0 and tcp[13] = 0x92";

    private final Counter received = new Counter();
    private VethPair pair;
    private NetworkNamespace kernel;
    private RdmaRawEventLoopGroup group;

    /** Counts and discards received bytes, and collects its channels. */
    @ChannelHandler.Sharable
    private static final class Counter extends ChannelInboundHandlerAdapter {
        final AtomicLong bytes = new AtomicLong();
        final BlockingQueue<Channel> channels = new LinkedBlockingQueue<>();

        @Override
        public void channelActive(ChannelHandlerContext ctx) {
            channels.add(ctx.channel());
        }

        @Override
        public void channelRead(ChannelHandlerContext ctx, Object msg) {
            bytes.addAndGet(((ByteBuf) msg).readableBytes());
            ((ByteBuf) msg).release();
        }
    }

    @BeforeEach
    void open(TestNetwork network) {
        pair = network.withoutCapture().vethPair(network.namespace(), network.namespace());
        kernel = pair.peer().namespace();
        assumeTrue(kernel.attempt("nft", "--version").exitCode() == 0, "needs nft: apt-get install nftables");
    }

    @AfterEach
    void close() {
        if (group != null) {
            group.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
        }
    }

    private String device() {
        return "soft:xdp:" + pair.ours().name();
    }

    private void begin(RdmaRawTcpSettings.Ecn ours, int kernels) {
        assumeTrue(kernel.attempt("sysctl", "-qw", "net.ipv4.tcp_ecn=" + kernels).exitCode() == 0,
                "needs a kernel whose net.ipv4.tcp_ecn may be " + kernels + ": Linux 7");
        group = new RdmaRawEventLoopGroup(1, pair.ours().namespace().threadFactory(),
                RdmaRawIoHandlerConfig.builder().device(device()).tcp(new RdmaRawTcpSettings().ecn(ours)).build());
    }

    /** Marks one of {@code oneOf} ECN-capable packets that arrive at or leave the kernel's end. */
    private void mark(String hook, int oneOf) {
        kernel.run("nft", "add table ip marks; add chain ip marks some { type filter hook " + hook
                + " priority -300; }; add rule ip marks some ip protocol tcp ip ecn ect0 numgen inc mod " + oneOf
                + " 0 ip ecn set ce counter");
    }

    /** Returns the number of marked packets. The kernel's own counters count packets before they are marked. */
    private long marked() {
        Matcher packets = Pattern.compile("counter packets ([0-9]+)")
                .matcher(kernel.run("nft", "list", "table", "ip", "marks").output());
        assertTrue(packets.find());
        return Long.parseLong(packets.group(1));
    }

    /** Returns a counter of the kernel at the other end. */
    private long counted(String name) {
        String line = kernel.run("nstat", "-asz", name).output().lines().filter(each -> each.startsWith(name + ' '))
                .findFirst().orElseThrow();
        return Long.parseLong(line.substring(name.length()).strip().split("\\s+")[0]);
    }

    private PeerProcess capture(String filter) {
        PeerProcess dump = kernel.start("tcpdump", "-n", "-i", pair.peer().name(), "-c", "1", filter);
        dump.awaitOutput("listening on", Await.PATIENCE);
        return dump;
    }

    private static void await(PeerProcess dump) {
        dump.awaitOutput("1 packet captured", Await.PATIENCE);
    }

    /** This transport sends, the kernel counts the marks and reports each of them. */
    @ParameterizedTest
    @CsvSource({"false, ACCURATE, 3", "false, ACCURATE, 5", "true, ACCURATE_PASSIVE, 3"})
    void kernelReportsMarks(boolean kernelConnects, RdmaRawTcpSettings.Ecn ours, int kernels) throws Exception {
        begin(ours, kernels);
        mark("prerouting", 25);
        try (PeerProcess syn = capture(SYN_ASKS); PeerProcess synAck = capture(SYN_ACK_AGREES);
                Ends ends = new Ends(kernelConnects)) {
            await(syn);
            await(synAck);
            for (int i = 0; i < BYTES / BLOCK_BYTES; i++) {
                ends.channel.write(Unpooled.wrappedBuffer(new byte[BLOCK_BYTES]));
            }
            ends.channel.flush();
            assertEquals(BYTES, ends.socket.getInputStream().readNBytes(BYTES).length);
            Await.until("the last acknowledgement",
                    () -> ends.channel.tcpInfo().syncUninterruptibly().getNow().unacknowledgedBytes() == 0);
            long marks = marked();
            assertTrue(marks > 0);
            // A packet that the peer's device receives as one frame may consist of several segments.
            long echoed = TcpHost.tcp(device(), "congestion-marks.echoed");
            assertTrue(echoed >= marks, echoed + " of " + marks);
        }
    }

    /** The kernel sends, this transport counts the marks and reports each of them. */
    @ParameterizedTest
    @CsvSource({"false, ACCURATE, 3", "true, ACCURATE, 3", "true, ACCURATE_PASSIVE, 3"})
    void marksAreReportedToKernel(boolean kernelConnects, RdmaRawTcpSettings.Ecn ours, int kernels) throws Exception {
        begin(ours, kernels);
        mark("postrouting", 25);
        try (PeerProcess syn = capture(SYN_ASKS); PeerProcess synAck = capture(SYN_ACK_AGREES);
                Ends ends = new Ends(kernelConnects)) {
            await(syn);
            await(synAck);
            byte[] block = new byte[BLOCK_BYTES];
            for (int i = 0; i < BYTES / BLOCK_BYTES; i++) {
                ends.socket.getOutputStream().write(block);
            }
            Await.until("all to come", () -> received.bytes.get() == BYTES);
            long marks = TcpHost.tcp(device(), "congestion-marks.received");
            assertTrue(marks > 10, marks + " marks came");
            Await.until("the kernel to know of " + marks, () -> counted("TcpExtTCPDeliveredCE") >= marks);
            // If an ACK covers eight segments or more, the kernel assumes that the counter has wrapped.
            assertEquals(0, (counted("TcpExtTCPDeliveredCE") - marks) % 8);
        }
    }

    /** An end that supports only classic ECN feedback receives classic feedback. */
    @ParameterizedTest
    @CsvSource({"false, ACCURATE, 1", "true, ACCURATE, 1", "false, ACCURATE, 2", "true, ACCURATE_PASSIVE, 1",
            "true, PASSIVE, 3", "false, ACTIVE, 3"})
    void bothEndsFallBackToClassicFeedback(boolean kernelConnects, RdmaRawTcpSettings.Ecn ours, int kernels)
            throws Exception {
        begin(ours, kernels);
        mark("prerouting", 25);
        try (PeerProcess synAck = capture("tcp[12] & 1 = 0 and tcp[13] = 0x52");
                Ends ends = new Ends(kernelConnects)) {
            await(synAck);
            ends.channel.writeAndFlush(Unpooled.wrappedBuffer(new byte[BYTES / 10])).sync();
            assertEquals(BYTES / 10, ends.socket.getInputStream().readNBytes(BYTES / 10).length);
            assertTrue(marked() > 0);
            assertTrue(ends.channel.tcpInfo().sync().getNow().deliveredMarkedBytes() > 0);
            assertEquals(0, TcpHost.tcp(device(), "congestion-marks.echoed"));
        }
    }

    /** A connection: its channel and the kernel's socket. */
    private final class Ends implements AutoCloseable {
        final RdmaRawSocketChannel channel;
        final Socket socket;
        private final ServerSocket server;

        Ends(boolean kernelConnects) throws Exception {
            if (kernelConnects) {
                server = null;
                TcpHost.listen(group, group, address(pair.ours().ipv4(), PORT), received);
                socket = TcpHost.socket(kernel, pair.ours().ipv4(), PORT);
                channel = (RdmaRawSocketChannel) received.channels.poll(Await.PATIENCE_MILLIS, TimeUnit.MILLISECONDS);
            } else {
                server = kernel.call(() -> new ServerSocket(0, 50, InetAddress.ofLiteral(pair.peer().ipv4())));
                channel = TcpHost.connect(group, address(pair.peer().ipv4(), server.getLocalPort()), received);
                socket = server.accept();
            }
        }

        @Override
        public void close() throws IOException {
            socket.close();
            if (server != null) {
                server.close();
            }
        }
    }
}
