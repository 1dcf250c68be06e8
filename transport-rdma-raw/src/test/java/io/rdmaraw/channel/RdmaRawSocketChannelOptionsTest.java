package io.rdmaraw.channel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOption;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** Options of connections whose peers have fallen silent; most are set when the connection is open already. */
@Timeout(60)
class RdmaRawSocketChannelOptionsTest {
    private static final long SECOND_NANOS = 1_000_000_000L;

    private final StreamFixture fixture = new StreamFixture(LoopDevice.inMemory(), 1, 1);
    private final CountDownLatch silence = new CountDownLatch(1);
    private final CompletableFuture<Throwable> failure = new CompletableFuture<>();
    private long beginNanos;
    private InetSocketAddress server;

    private final class Client extends ChannelInboundHandlerAdapter {
        @Override
        public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
            failure.complete(cause);
        }
    }

    @BeforeEach
    void listen() throws InterruptedException {
        server = fixture.listen(new StreamFixture.Echo());
        beginNanos = System.nanoTime();
    }

    @AfterEach
    void shutDown() {
        silence.countDown();
        fixture.close();
    }

    /** A connection whose peer does nothing any more. */
    private RdmaRawSocketChannel connect(List<ChannelOption<Integer>> options) throws InterruptedException {
        var client = fixture.client(new Client()).option(ChannelOption.SO_KEEPALIVE, true);
        options.forEach(option -> client.option(option, 1));
        RdmaRawSocketChannel channel = (RdmaRawSocketChannel) client.connect(server).sync().channel();
        RdmaRawSocketChannel peer = fixture.accepted();
        StreamFixture.settle(peer.eventLoop());
        StreamFixture.silence(peer.eventLoop(), silence);
        return channel;
    }

    private static int segmentsOut(RdmaRawSocketChannel channel) {
        return channel.tcpInfo().syncUninterruptibly().getNow().segmentsOut();
    }

    /** Each of them for itself; the defaults are two hours, 75 seconds and 9 probes. */
    enum KeepaliveOption {
        IDLE(RdmaRawChannelOption.TCP_KEEPIDLE),
        INTERVAL(RdmaRawChannelOption.TCP_KEEPINTVL),
        COUNT(RdmaRawChannelOption.TCP_KEEPCNT);

        private final ChannelOption<Integer> option;

        KeepaliveOption(ChannelOption<Integer> option) {
            this.option = option;
        }
    }

    @ParameterizedTest
    @EnumSource
    void keepaliveOptionsHoldAtOnce(KeepaliveOption late) throws Exception {
        List<ChannelOption<Integer>> early = new ArrayList<>();
        for (KeepaliveOption each : KeepaliveOption.values()) {
            if (each != late) {
                early.add(each.option);
            }
        }
        RdmaRawSocketChannel channel = connect(early);
        int sentBefore = segmentsOut(channel);
        assertTrue(channel.config().setOption(late.option, 1));
        assertEquals("Connection timed out", failure.get().getMessage());
        long tookNanos = System.nanoTime() - beginNanos;
        assertTrue(tookNanos >= 2 * SECOND_NANOS, tookNanos + " ns for a second of silence and one after the probe");
        assertEquals(1, segmentsOut(channel) - sentBefore, "probes");
    }

    /** RFC 9293 section 3.7.4: without TCP_NODELAY a small segment waits until what is on its way has arrived. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void smallSegmentsWaitUnlessTheyMustNot(boolean setBeforeConnecting) throws Exception {
        var client = fixture.client(new Client());
        if (setBeforeConnecting) {
            client.option(ChannelOption.TCP_NODELAY, false);
        }
        RdmaRawSocketChannel channel = (RdmaRawSocketChannel) client.connect(server).sync().channel();
        RdmaRawSocketChannel peer = fixture.accepted();
        StreamFixture.settle(peer.eventLoop());
        StreamFixture.silence(peer.eventLoop(), silence);
        // All within one task: a probe for lost tails sends what waits, too.
        StreamFixture.on(channel.eventLoop(), () -> {
            if (!setBeforeConnecting) {
                channel.config().setTcpNoDelay(false);
            }
            channel.writeAndFlush(Unpooled.wrappedBuffer(new byte[10]));
            channel.writeAndFlush(Unpooled.wrappedBuffer(new byte[20]));
            assertEquals(20, channel.tcpInfo().getNow().unsentBytes());
            assertEquals(10, channel.tcpInfo().getNow().unacknowledgedBytes());
            channel.config().setTcpNoDelay(true);
            channel.flush();
            channel.writeAndFlush(Unpooled.wrappedBuffer(new byte[30]));
            assertEquals(0, channel.tcpInfo().getNow().unsentBytes());
            assertEquals(60, channel.tcpInfo().getNow().unacknowledgedBytes());
            return null;
        });
    }

    /** What is written waits for a quarter of an hour otherwise. */
    @Test
    void theUserTimeoutHoldsForWhatWaitsAlready() throws Exception {
        RdmaRawSocketChannel channel = connect(List.of());
        channel.writeAndFlush(Unpooled.wrappedBuffer(new byte[10])).sync();
        assertTrue(channel.config().setOption(RdmaRawChannelOption.TCP_USER_TIMEOUT, 1500));
        assertEquals("Connection timed out", failure.get().getMessage());
        long tookNanos = System.nanoTime() - beginNanos;
        assertTrue(tookNanos >= SECOND_NANOS * 3 / 2, tookNanos + " ns");
    }

    /** Two minutes otherwise: a SYN goes out seven times. */
    @Test
    void connectingEndsWhenTheSynHasBeenSentAgainSoOften() throws Exception {
        StreamFixture.silence(fixture.servers.next(), silence);
        Throwable cause = fixture.client(new Client()).option(ChannelOption.CONNECT_TIMEOUT_MILLIS, 0)
                .option(RdmaRawChannelOption.TCP_SYNCNT, 1).connect(server).await().cause();
        long tookNanos = System.nanoTime() - beginNanos;
        assertInstanceOf(ConnectException.class, cause);
        assertTrue(cause.getMessage().startsWith("Connection timed out"), cause::getMessage);
        assertTrue(tookNanos >= 3 * SECOND_NANOS, tookNanos + " ns for a second after the SYN and two after the next");
    }
}
