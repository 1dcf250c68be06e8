package io.rdmaraw.channel;

import static io.rdmaraw.channel.StreamFixture.on;
import static io.rdmaraw.channel.StreamFixture.settle;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.bootstrap.Bootstrap;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOption;
import io.netty.channel.ConnectTimeoutException;
import io.netty.channel.EventLoop;
import io.rdmaraw.tcp.stack.TcpStack;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * Many channels connect at once. Only some SYNs leave immediately; the others wait until earlier ones have been
 * answered.
 */
@Timeout(60)
class ConnectStormTest {
    private static final int STORM = 600;
    /** Number of SYNs that the core sends without waiting for an answer. */
    private static final int AT_ONCE = 128;
    /** Number of SYNs that each timer tick permits although none has been answered. */
    private static final int SENT_BY_TICK = 4;
    private static final int TICK_SHIFT = 20;
    private static final int LAST = STORM - 1;
    /** Local port outside the ephemeral range of the host. */
    private static final int LOCAL_PORT = 20_000;

    private final StreamFixture fixture = new StreamFixture(LoopDevice.inMemory(), 1, 1);
    private final EventLoop loop = fixture.clients.next();
    private final CountDownLatch mute = new CountDownLatch(1);
    /** Timer ticks before each connect of the storm, and after the last. */
    private final long[] ticks = new long[STORM + 1];
    private InetSocketAddress server;
    private TcpStack stack;

    @BeforeEach
    void listen() throws InterruptedException {
        server = fixture.listen("127.0.0.1", new StreamFixture.Echo(),
                settings -> settings.option(ChannelOption.SO_BACKLOG, 2 * STORM));
        RdmaRawSocketChannel first = fixture.connect(server, new ChannelInboundHandlerAdapter());
        fixture.accepted();
        stack = first.tcpStack();
        first.close().sync();
        awaitConnections(0);
    }

    @AfterEach
    void shutDown() {
        mute.countDown();
        fixture.close();
    }

    private Bootstrap client() {
        return fixture.client(new ChannelInboundHandlerAdapter());
    }

    /**
     * Registers the channels, then connects all of them in one turn of their loop. The last one uses the given
     * bootstrap and local address.
     */
    private List<ChannelFuture> storm(Bootstrap last, InetSocketAddress lastLocal) {
        List<RdmaRawSocketChannel> channels = new ArrayList<>();
        for (int i = 0; i < STORM; i++) {
            Bootstrap client = i == LAST ? last : client();
            channels.add((RdmaRawSocketChannel) client.register().syncUninterruptibly().channel());
        }
        return on(loop, () -> {
            List<ChannelFuture> attempts = new ArrayList<>();
            for (int i = 0; i < STORM; i++) {
                ticks[i] = tick();
                attempts.add(i == LAST ? channels.get(i).connect(server, lastLocal) : channels.get(i).connect(server));
            }
            ticks[STORM] = tick();
            return attempts;
        });
    }

    private static long tick() {
        return System.nanoTime() >> TICK_SHIFT;
    }

    /** Returns how many connects of the storm may have sent their SYN at once, as ticks ended during the storm. */
    private int maxSentAtOnce() {
        int permitted = AT_ONCE;
        for (int i = 1; i < STORM; i++) {
            permitted--;
            if (ticks[i + 1] > ticks[i - 1]) {
                permitted = Math.max(permitted, SENT_BY_TICK);
            }
            if (permitted == 0) {
                return i;
            }
        }
        return STORM;
    }

    private long delayed() {
        return on(loop, () -> stack.engine().counters().opensDelayed);
    }

    /** Each check is a task on the loop, which therefore keeps turning. */
    private void awaitConnections(int count) {
        while (on(loop, () -> stack.engine().connectionCount()) != count
                || on(loop, () -> stack.statistics().openConnections) != count) {
            assertFalse(loop.isShuttingDown());
        }
    }

    private void assertAllButTheLastConnect(List<ChannelFuture> attempts) throws InterruptedException {
        mute.countDown();
        for (ChannelFuture attempt : attempts.subList(0, LAST)) {
            attempt.sync();
            fixture.accepted();
        }
        awaitConnections(LAST);
        settle(loop);
        settle(fixture.servers.next());
        assertFalse(fixture.hasAccepted(), "the SYN of the one that was given up has left");
        for (ChannelFuture attempt : attempts) {
            attempt.channel().close().sync();
        }
        awaitConnections(0);
    }

    @Test
    void allConnectAndDelayedOpensAreCounted() throws InterruptedException {
        List<ChannelFuture> attempts = storm(client(), null);
        long delayed = delayed();
        assertTrue(delayed <= STORM - AT_ONCE && delayed >= STORM - maxSentAtOnce(),
                () -> delayed + " wait, and " + maxSentAtOnce() + " may have been sent at once");
        for (ChannelFuture attempt : attempts) {
            assertTrue(attempt.sync().channel().isActive());
            fixture.accepted();
        }
        awaitConnections(STORM);
        assertEquals(delayed, delayed(), "none waits twice");
        assertEquals(delayed, stack.statistics().value(stack.statistics().metrics().stream()
                .filter(metric -> metric.name().equals("delayed.opens")).findFirst().orElseThrow()));
        for (ChannelFuture attempt : attempts) {
            attempt.channel().close().sync();
        }
        awaitConnections(0);
    }

    @Test
    void cancelledWaitingAttemptSendsNoSyn() throws InterruptedException {
        StreamFixture.keepBusy(fixture.servers.next(), mute);
        InetSocketAddress local = new InetSocketAddress(InetAddress.ofLiteral("127.0.0.1"), LOCAL_PORT);
        List<ChannelFuture> attempts = storm(client(), local);
        ChannelFuture last = attempts.get(LAST);
        assertTrue(last.cancel(false));
        assertTrue(last.channel().closeFuture().await(Patience.MILLIS));
        assertInstanceOf(CancellationException.class, last.cause());
        awaitConnections(LAST);
        assertAllButTheLastConnect(attempts);
        client().connect(server, local).sync();
    }

    @Test
    void waitingAttemptTimesOut() throws InterruptedException {
        StreamFixture.keepBusy(fixture.servers.next(), mute);
        InetSocketAddress local = new InetSocketAddress(InetAddress.ofLiteral("127.0.0.1"), LOCAL_PORT);
        List<ChannelFuture> attempts = storm(client().option(ChannelOption.CONNECT_TIMEOUT_MILLIS, 1), local);
        ChannelFuture last = attempts.get(LAST);
        assertInstanceOf(ConnectTimeoutException.class, last.await().cause());
        assertTrue(last.channel().closeFuture().await(Patience.MILLIS));
        awaitConnections(LAST);
        assertAllButTheLastConnect(attempts);
        client().connect(server, local).sync();
    }

    @Test
    void waitingAttemptsFailWhenLoopEnds() throws InterruptedException {
        StreamFixture.keepBusy(fixture.servers.next(), mute);
        List<ChannelFuture> attempts = storm(client(), null);
        assertTrue(fixture.clients.shutdownGracefully(0, 10, TimeUnit.SECONDS).await(Patience.MILLIS));
        for (ChannelFuture attempt : attempts) {
            assertTrue(attempt.isDone() && !attempt.isSuccess());
            assertFalse(attempt.channel().isOpen());
        }
    }
}
