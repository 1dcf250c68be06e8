package io.rdmaraw.channel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOption;
import io.netty.util.ReferenceCountUtil;
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

/**
 * Options that control timeouts, pacing and small segments. Most tests set them on an open connection with a silent
 * peer.
 */
@Timeout(60)
class RdmaRawSocketChannelOptionsTest {
    private static final long SECOND_NANOS = 1_000_000_000L;
    /** Two quanta of two segments each, as at a low rate, plus the segment that finds the bucket not empty. */
    private static final int FIRST_BURST_SEGMENTS = 5;

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

    /** Opens a connection and then blocks the loop of its peer. */
    private RdmaRawSocketChannel connect(List<ChannelOption<Integer>> options) throws InterruptedException {
        RdmaRawSocketChannel channel = open(options);
        silence(fixture.accepted());
        return channel;
    }

    /** Opens a connection with options set to 1. */
    private RdmaRawSocketChannel open(List<ChannelOption<Integer>> options) throws InterruptedException {
        var client = fixture.client(new Client()).option(ChannelOption.SO_KEEPALIVE, true);
        options.forEach(option -> client.option(option, 1));
        return (RdmaRawSocketChannel) client.connect(server).sync().channel();
    }

    /** Blocks the loop of a peer when it has processed everything that it has received. */
    private void silence(RdmaRawSocketChannel peer) throws InterruptedException {
        StreamFixture.settle(peer.eventLoop());
        StreamFixture.silence(peer.eventLoop(), silence);
    }

    private static int segmentsOut(RdmaRawSocketChannel channel) {
        return channel.tcpInfo().syncUninterruptibly().getNow().segmentsOut();
    }

    private static int segmentsIn(RdmaRawSocketChannel channel) {
        return channel.tcpInfo().syncUninterruptibly().getNow().segmentsIn();
    }

    /** Each option alone shortens the timeout; the defaults are two hours, 75 seconds and 9 probes. */
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
    void keepaliveOptionsTakeEffectAtOnce(KeepaliveOption late) throws Exception {
        List<ChannelOption<Integer>> early = new ArrayList<>();
        for (KeepaliveOption each : KeepaliveOption.values()) {
            if (each != late) {
                early.add(each.option);
            }
        }
        RdmaRawSocketChannel channel = open(early);
        RdmaRawSocketChannel peer = fixture.accepted();
        // Within one task, so that no probe is due between the beginning of the silence and the count.
        int sentBefore = StreamFixture.on(channel.eventLoop(), () -> {
            silence(peer);
            assertTrue(channel.config().setOption(late.option, 1));
            return segmentsOut(channel);
        });
        assertEquals("Connection timed out", failure.get().getMessage());
        long tookNanos = System.nanoTime() - beginNanos;
        assertTrue(tookNanos >= 2 * SECOND_NANOS, tookNanos + " ns for a second of silence and one after the probe");
        assertEquals(1, segmentsOut(channel) - sentBefore, "probes");
    }

    /**
     * RFC 9293 section 3.7.4: without TCP_NODELAY, a small segment waits until all transmitted data has been
     * acknowledged.
     */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void smallSegmentsWaitWithoutNoDelay(boolean setBeforeConnecting) throws Exception {
        var client = fixture.client(new Client());
        if (setBeforeConnecting) {
            client.option(ChannelOption.TCP_NODELAY, false);
        }
        RdmaRawSocketChannel channel = (RdmaRawSocketChannel) client.connect(server).sync().channel();
        RdmaRawSocketChannel peer = fixture.accepted();
        StreamFixture.settle(peer.eventLoop());
        StreamFixture.silence(peer.eventLoop(), silence);
        // All within one task, because a tail loss probe would also send the waiting data.
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

    /** The timeout applies to data that has already been sent. Its default is a quarter of an hour. */
    @Test
    void userTimeoutAppliesToDataInFlight() throws Exception {
        RdmaRawSocketChannel channel = connect(List.of());
        channel.writeAndFlush(Unpooled.wrappedBuffer(new byte[10])).sync();
        assertTrue(channel.config().setOption(RdmaRawChannelOption.TCP_USER_TIMEOUT, 1500));
        assertEquals("Connection timed out", failure.get().getMessage());
        long tookNanos = System.nanoTime() - beginNanos;
        assertTrue(tookNanos >= SECOND_NANOS * 3 / 2, tookNanos + " ns");
    }

    /** By default a SYN is sent seven times, which takes two minutes. */
    @Test
    void connectFailsAfterConfiguredSynRetransmissions() throws Exception {
        StreamFixture.silence(fixture.servers.next(), silence);
        Throwable cause = fixture.client(new Client()).option(ChannelOption.CONNECT_TIMEOUT_MILLIS, 0)
                .option(RdmaRawChannelOption.TCP_SYNCNT, 1).connect(server).await().cause();
        long tookNanos = System.nanoTime() - beginNanos;
        assertInstanceOf(ConnectException.class, cause);
        assertTrue(cause.getMessage().startsWith("Connection timed out"), cause::getMessage);
        assertTrue(tookNanos >= 3 * SECOND_NANOS, tookNanos + " ns for a second after the SYN and two after the next");
    }

    private static long unsentBytes(RdmaRawSocketChannel channel) {
        return channel.tcpInfo().syncUninterruptibly().getNow().unsentBytes();
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void corkHoldsSmallSegmentsBack(boolean setBeforeConnecting) throws Exception {
        var client = fixture.client(new Client());
        if (setBeforeConnecting) {
            client.option(RdmaRawChannelOption.TCP_CORK, true);
        }
        RdmaRawSocketChannel channel = (RdmaRawSocketChannel) client.connect(server).sync().channel();
        StreamFixture.on(channel.eventLoop(), () -> {
            channel.config().setOption(RdmaRawChannelOption.TCP_CORK, true);
            channel.writeAndFlush(Unpooled.wrappedBuffer(new byte[10]));
            assertEquals(10, unsentBytes(channel));
            channel.config().setOption(RdmaRawChannelOption.TCP_KEEPIDLE, 60);
            channel.writeAndFlush(Unpooled.wrappedBuffer(new byte[10]));
            assertEquals(20, unsentBytes(channel), "another option is no reason to send");
            channel.config().setOption(RdmaRawChannelOption.TCP_CORK, false);
            channel.flush();
            channel.writeAndFlush(Unpooled.wrappedBuffer(new byte[10]));
            assertEquals(0, unsentBytes(channel));
            return null;
        });
    }

    /**
     * TCP_NOTSENT_LOWAT limits unsent data in the send buffer. The rest stays in the outbound buffer, where it counts
     * against the water marks and urgent data can overtake it.
     */
    @Test
    void unsentDataInSendBufferIsLimited() throws Exception {
        int lowWaterBytes = 4_000;
        RdmaRawSocketChannel channel = (RdmaRawSocketChannel) fixture.client(new Client())
                .option(RdmaRawChannelOption.TCP_NOTSENT_LOWAT, (long) lowWaterBytes).connect(server).sync().channel();
        RdmaRawSocketChannel peer = fixture.accepted();
        StreamFixture.settle(peer.eventLoop());
        StreamFixture.silence(peer.eventLoop(), silence);
        CompletableFuture<Void> all = new CompletableFuture<>();
        channel.write(Unpooled.wrappedBuffer(new byte[2_000_000]))
                .addListener(written -> all.complete(null));
        channel.flush();
        long unsentBytes;
        do {
            StreamFixture.settle(channel.eventLoop());
            unsentBytes = unsentBytes(channel);
            assertTrue(unsentBytes <= lowWaterBytes + 1_500, unsentBytes + " bytes");
            // A tail loss probe may have made room, which the next turn fills.
        } while (unsentBytes < lowWaterBytes / 2);
        assertTrue(!channel.isWritable() && !all.isDone());
        silence.countDown();
        all.get(Patience.SECONDS, TimeUnit.SECONDS);
    }

    /**
     * Except for a first burst, the transfer takes at least as long as the rate requires. When the limit is removed,
     * the rest is sent at once.
     */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void pacingRateLimitsTransfer(boolean setBeforeConnecting) throws Exception {
        InetSocketAddress silent = fixture.listen("127.0.0.1", new Discard(), settings -> { });
        long bytesPerSecond = 1_000_000;
        var client = fixture.client(new Client());
        if (setBeforeConnecting) {
            client.option(RdmaRawChannelOption.SO_MAX_PACING_RATE, bytesPerSecond);
        }
        RdmaRawSocketChannel channel = (RdmaRawSocketChannel) client.connect(silent).sync().channel();
        if (!setBeforeConnecting) {
            channel.config().setOption(RdmaRawChannelOption.SO_MAX_PACING_RATE, bytesPerSecond);
        }
        RdmaRawSocketChannel peer = fixture.accepted();
        int lengthBytes = 500_000;
        long beganNanos = System.nanoTime();
        channel.writeAndFlush(Unpooled.wrappedBuffer(new byte[lengthBytes]));
        awaitReceived(peer, lengthBytes);
        long tookNanos = System.nanoTime() - beganNanos;
        int burstBytes = FIRST_BURST_SEGMENTS * channel.tcpInfo().sync().getNow().segmentBytes();
        long leastNanos = SECOND_NANOS * (lengthBytes - burstBytes) / bytesPerSecond;
        assertTrue(tookNanos >= leastNanos, tookNanos + " ns, not " + leastNanos);
        assertEquals(bytesPerSecond, channel.tcpInfo().sync().getNow().pacingRate());
        channel.config().setOption(RdmaRawChannelOption.SO_MAX_PACING_RATE, 1L);
        channel.writeAndFlush(Unpooled.wrappedBuffer(new byte[lengthBytes]));
        channel.config().setOption(RdmaRawChannelOption.SO_MAX_PACING_RATE, 0L);
        awaitReceived(peer, 2 * lengthBytes);
    }

    private static void awaitReceived(RdmaRawSocketChannel channel, int lengthBytes) throws Exception {
        while (channel.tcpInfo().sync().getNow().bytesReceived() < lengthBytes) {
            StreamFixture.settle(channel.eventLoop());
        }
    }

    @Test
    void bothEndsUseSmallerMaximumSegmentSize() throws Exception {
        InetSocketAddress small = fixture.listen("127.0.0.1", new StreamFixture.Echo(),
                bootstrap -> bootstrap.option(RdmaRawChannelOption.TCP_MAXSEG, 600));
        RdmaRawSocketChannel toSmall = fixture.connect(small, new Client());
        RdmaRawSocketChannel ofSmall = fixture.accepted();
        RdmaRawSocketChannel fromSmaller = (RdmaRawSocketChannel) fixture.client(new Client())
                .option(RdmaRawChannelOption.TCP_MAXSEG, 500).connect(small).sync().channel();
        RdmaRawSocketChannel ofSmaller = fixture.accepted();
        int timestampsBytes = 12;
        for (RdmaRawSocketChannel each : List.of(toSmall, ofSmall)) {
            assertEquals(600 - timestampsBytes, each.tcpInfo().sync().getNow().segmentBytes());
        }
        for (RdmaRawSocketChannel each : List.of(fromSmaller, ofSmaller)) {
            assertEquals(500 - timestampsBytes, each.tcpInfo().sync().getNow().segmentBytes());
        }
    }

    @Test
    void deferringServerAcceptsWithFirstData() throws Exception {
        InetSocketAddress deferring = fixture.listen("127.0.0.1", new StreamFixture.Echo(),
                bootstrap -> bootstrap.option(RdmaRawChannelOption.TCP_DEFER_ACCEPT, 60));
        RdmaRawSocketChannel first = fixture.connect(deferring, new Client());
        RdmaRawSocketChannel second = fixture.connect(deferring, new Client());
        second.writeAndFlush(Unpooled.wrappedBuffer(new byte[10])).sync();
        assertEquals(second.localAddress(), fixture.accepted().remoteAddress());
        assertTrue(!fixture.hasAccepted(), "it has sent nothing");
        first.writeAndFlush(Unpooled.wrappedBuffer(new byte[10])).sync();
        assertEquals(first.localAddress(), fixture.accepted().remoteAddress());
    }

    /** With TCP_LINGER2 below zero, the connection is reset although the peer has not ended its own output. */
    @Test
    void closedChannelDoesNotWaitForFinOfPeer() throws Exception {
        InetSocketAddress halfClosing = fixture.listen("127.0.0.1", new Client(),
                bootstrap -> bootstrap.childOption(ChannelOption.ALLOW_HALF_CLOSURE, true));
        RdmaRawSocketChannel channel = (RdmaRawSocketChannel) fixture.client(new ChannelInboundHandlerAdapter())
                .option(RdmaRawChannelOption.TCP_LINGER2, -1).connect(halfClosing).sync().channel();
        RdmaRawSocketChannel peer = fixture.accepted();
        channel.close().sync();
        // Without the reset the peer would stay in CLOSE-WAIT.
        while (!peer.tcpInfo().sync().getNow().state().equals("CLOSED")) {
            StreamFixture.settle(peer.eventLoop());
        }
    }

    /**
     * The segments arrive one at a time, so that none is acknowledged as a second one. Without the option only the
     * first 16 are acknowledged at once.
     */
    @Test
    void quickAckAcknowledgesEachSegment() throws Exception {
        InetSocketAddress silent = fixture.listen("127.0.0.1", new Discard(),
                bootstrap -> bootstrap.childOption(RdmaRawChannelOption.TCP_QUICKACK, true));
        RdmaRawSocketChannel channel = fixture.connect(silent, new Client());
        RdmaRawSocketChannel peer = fixture.accepted();
        StreamFixture.settle(peer.eventLoop());
        int before = segmentsOut(peer);
        int receivedBefore = segmentsIn(peer);
        for (int sent = 1; sent <= 40; sent++) {
            channel.writeAndFlush(Unpooled.wrappedBuffer(new byte[1])).sync();
            awaitReceived(peer, sent);
        }
        StreamFixture.settle(peer.eventLoop());
        int acks = segmentsOut(peer) - before;
        // If the peer's loop is late, a tail loss probe repeats a segment, which is acknowledged too.
        int received = segmentsIn(peer) - receivedBefore;
        assertTrue(acks >= 40 && acks <= received, acks + " for " + received + " segments");
        assertTrue(peer.config().getOption(RdmaRawChannelOption.TCP_QUICKACK));
    }

    private static final class Discard extends ChannelInboundHandlerAdapter {
        @Override
        public void channelRead(ChannelHandlerContext ctx, Object msg) {
            ReferenceCountUtil.release(msg);
        }
    }
}
