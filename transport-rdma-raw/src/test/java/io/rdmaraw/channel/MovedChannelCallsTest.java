package io.rdmaraw.channel;

import static io.rdmaraw.channel.LoopMoves.keepBusy;
import static io.rdmaraw.channel.LoopMoves.leaveBehind;
import static io.rdmaraw.channel.LoopMoves.loopThatIsNot;
import static io.rdmaraw.channel.StreamFixture.on;
import static io.rdmaraw.channel.StreamFixture.settle;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOption;
import io.netty.channel.ConnectTimeoutException;
import io.netty.channel.EventLoop;
import io.netty.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

import java.net.InetSocketAddress;
import java.nio.channels.ClosedChannelException;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * A call may reach the loop that its channel has left. It takes effect on the loop that the channel is registered with.
 */
@Timeout(120)
class MovedChannelCallsTest {
    private static final int LOOPS = 4;
    private static final int CAPTURE_BYTES = 1 << 16;
    private static final int CONNECT_MILLIS = 500;

    private final StreamFixture fixture = StreamFixture.ofOneGroup(LoopDevice.inMemory(), LOOPS);
    /** Opened by the test to release blocked loops. */
    private final CountDownLatch goOn = new CountDownLatch(1);
    private final CountDownLatch read = new CountDownLatch(1);
    private RdmaRawSocketChannel client;
    private RdmaRawSocketChannel child;
    private EventLoop first;
    private EventLoop second;

    @BeforeEach
    void connect() throws Exception {
        client = fixture.connect(fixture.listen(new ChannelInboundHandlerAdapter()),
                new ChannelInboundHandlerAdapter() {
                    @Override
                    public void channelRead(ChannelHandlerContext ctx, Object msg) {
                        ((ByteBuf) msg).release();
                        read.countDown();
                    }
                });
        child = fixture.accepted();
        first = client.eventLoop();
        second = loopThatIsNot(fixture.clients, first, child.eventLoop());
    }

    @AfterEach
    void shutDown() {
        goOn.countDown();
        fixture.close();
    }

    @Test
    void olderAutoReadCallDoesNotCancelRead() throws Exception {
        leaveBehind(client, second, () -> client.config().setAutoRead(false), () -> {
            client.read();
            settle(second);
        });
        child.writeAndFlush(Unpooled.wrappedBuffer(new byte[1])).sync();
        assertTrue(read.await(Patience.SECONDS, TimeUnit.SECONDS), "the read is lost");
    }

    @Test
    void outputIsShutDownOnLoopOfChannel() throws Exception {
        leaveBehind(client, second, client::shutdownOutput, () -> keepBusy(second, goOn));
        assertFalse(client.isOutputShutdown(), "the loop that the channel has left has ended its output");
        goOn.countDown();
        Patience.until(client::isOutputShutdown, "the end of the output");
        assertTrue(child.closeFuture().await(Patience.SECONDS, TimeUnit.SECONDS));
    }

    @Test
    void captureStartsOnLoopOfChannel(@TempDir Path folder) throws Exception {
        Future<?>[] capture = new Future<?>[1];
        leaveBehind(client, second, () -> capture[0] = client.capture(folder.resolve("moved.pcap"), CAPTURE_BYTES),
                () -> keepBusy(second, goOn));
        assertFalse(capture[0].isDone(), "the loop that the channel has left taps the stack of another");
        goOn.countDown();
        assertTrue(capture[0].await(Patience.SECONDS, TimeUnit.SECONDS));
        assertTrue(capture[0].isSuccess());
        assertTrue(on(second, () -> client.tcpStack().isObserved()));
    }

    @Test
    void connectTimeoutFiresOnLoopOfChannel() throws Exception {
        CountDownLatch silent = new CountDownLatch(1);
        try (StreamFixture own = new StreamFixture(LoopDevice.inMemory(), 1, 2)) {
            InetSocketAddress unanswered = own.listen(new ChannelInboundHandlerAdapter());
            keepBusy(own.servers.next(), silent);
            try {
                timesOutAfterTheMove(own, unanswered);
            } finally {
                goOn.countDown();
                silent.countDown();
            }
        }
    }

    /**
     * An attempt to connect.
     *
     * @param overdue completes on the first loop after the time of the attempt
     */
    private record Attempt(ChannelFuture connecting, Future<?> overdue) {
    }

    /** Begins an attempt and deregisters the channel in the same turn, so that the timeout cannot expire before. */
    private static Attempt connectAndLeave(RdmaRawSocketChannel channel, InetSocketAddress server)
            throws InterruptedException {
        EventLoop left = channel.eventLoop();
        ChannelFuture[] leaving = new ChannelFuture[1];
        Attempt begun = on(left, () -> {
            ChannelFuture connecting = channel.connect(server);
            leaving[0] = channel.deregister();
            return new Attempt(connecting, left.schedule(() -> { }, CONNECT_MILLIS, TimeUnit.MILLISECONDS));
        });
        leaving[0].sync();
        return begun;
    }

    private void timesOutAfterTheMove(StreamFixture own, InetSocketAddress unanswered) throws Exception {
        RdmaRawSocketChannel channel = (RdmaRawSocketChannel) own.client(new ChannelInboundHandlerAdapter())
                .option(ChannelOption.CONNECT_TIMEOUT_MILLIS, CONNECT_MILLIS).register().sync().channel();
        EventLoop left = channel.eventLoop();
        EventLoop joined = loopThatIsNot(own.clients, left);
        CountDownLatch isBusy = new CountDownLatch(1);
        Attempt begun = connectAndLeave(channel, unanswered);
        ChannelFuture attempt = begun.connecting;
        // Blocks the loop within the registration, so that the timeout cannot expire between the two.
        joined.register(channel).addListener(there -> {
            isBusy.countDown();
            LoopMoves.await(goOn);
        });
        LoopMoves.await(isBusy);
        begun.overdue.sync();
        settle(left);
        assertEquals("done false, open true", "done " + attempt.isDone() + ", open " + channel.isOpen());
        goOn.countDown();
        assertTrue(attempt.await(Patience.SECONDS, TimeUnit.SECONDS));
        assertInstanceOf(ConnectTimeoutException.class, attempt.cause());
        assertTrue(channel.closeFuture().await(Patience.SECONDS, TimeUnit.SECONDS));
    }

    /**
     * The channel is deregistered when its connect timeout expires. The attempt fails when the channel joins a loop
     * again.
     */
    @Test
    void connectTimeoutWaitsUntilChannelIsRegistered() throws Exception {
        CountDownLatch silent = new CountDownLatch(1);
        try (StreamFixture own = new StreamFixture(LoopDevice.inMemory(), 1, 2)) {
            InetSocketAddress unanswered = own.listen(new ChannelInboundHandlerAdapter());
            keepBusy(own.servers.next(), silent);
            try {
                RdmaRawSocketChannel channel = (RdmaRawSocketChannel) own.client(new ChannelInboundHandlerAdapter())
                        .option(ChannelOption.CONNECT_TIMEOUT_MILLIS, CONNECT_MILLIS).register().sync().channel();
                EventLoop left = channel.eventLoop();
                Attempt begun = connectAndLeave(channel, unanswered);
                ChannelFuture attempt = begun.connecting;
                begun.overdue.sync();
                settle(left);
                assertTrue(channel.isOpen() && !attempt.isDone(), "it has ended on a loop that has it no more");
                loopThatIsNot(own.clients, left).register(channel).sync();
                assertTrue(attempt.await(Patience.SECONDS, TimeUnit.SECONDS));
                assertInstanceOf(ConnectTimeoutException.class, attempt.cause());
            } finally {
                silent.countDown();
            }
        }
    }

    /**
     * Two calls set the same option. The older one is forwarded by the old loop and arrives after the newer one, which
     * went to the new loop directly; the newer value must remain.
     */
    @Test
    void settingsOfMovingConnectionKeepTheirOrder() throws Exception {
        CountDownLatch leave = new CountDownLatch(1);
        client.deregister().sync();
        keepBusy(first, leave);
        second.register(client).sync();
        first.execute(() -> LoopMoves.await(goOn));
        client.config().setOption(RdmaRawChannelOption.TCP_CONGESTION, "cubic");
        leave.countDown();
        Patience.until(() -> client.transport().loop() == second, "the connection to move");
        client.config().setOption(RdmaRawChannelOption.TCP_CONGESTION, "reno");
        settle(second);
        goOn.countDown();
        settle(first);
        settle(second);
        assertEquals("reno", client.config().getOption(RdmaRawChannelOption.TCP_CONGESTION));
        assertEquals("reno", client.tcpInfo().sync().getNow().congestionControl());
    }

    /** Calls from other threads fail their promise if the loop of the channel has terminated. */
    @Test
    void callsFailAfterLoopHasEnded() throws Exception {
        fixture.close();
        for (ChannelFuture asked : List.of(client.shutdownOutput(), client.shutdownInput(), client.shutdown())) {
            assertTrue(asked.await(Patience.MILLIS));
            assertInstanceOf(ClosedChannelException.class, asked.cause());
        }
    }
}
