package io.rdmaraw.channel;

import static io.rdmaraw.channel.StreamLab.on;
import static io.rdmaraw.channel.StreamLab.settle;
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

/** Channels that are connected all at once: most of their SYNs wait for others to be answered. */
@Timeout(60)
class ConnectStormTest {
    private static final int STORM = 600;
    /** What the core lets go without an answer. */
    private static final int AT_ONCE = 128;
    private static final int LAST = STORM - 1;
    /** None that the host chooses for others. */
    private static final int LOCAL_PORT = 20_000;
    private static final int PATIENCE_MILLIS = 60_000;

    private final StreamLab lab = new StreamLab(LoopDevice.inMemory(), 1, 1);
    private final EventLoop loop = lab.clients.next();
    private final CountDownLatch mute = new CountDownLatch(1);
    private InetSocketAddress server;
    private TcpStack stack;

    @BeforeEach
    void listen() throws InterruptedException {
        server = lab.listen("127.0.0.1", new StreamLab.Echo(),
                settings -> settings.option(ChannelOption.SO_BACKLOG, 2 * STORM));
        RdmaRawSocketChannel first = lab.connect(server, new ChannelInboundHandlerAdapter());
        lab.accepted();
        stack = first.loopStack();
        first.close().sync();
        awaitConnections(0);
    }

    @AfterEach
    void shutDown() {
        mute.countDown();
        lab.close();
    }

    private Bootstrap client() {
        return lab.client(new ChannelInboundHandlerAdapter());
    }

    /** Registers channels, and then connects them within one turn of their loop; the last one as is said. */
    private List<ChannelFuture> storm(Bootstrap last, InetSocketAddress lastLocal) {
        List<RdmaRawSocketChannel> channels = new ArrayList<>();
        for (int i = 0; i < STORM; i++) {
            Bootstrap client = i == LAST ? last : client();
            channels.add((RdmaRawSocketChannel) client.register().syncUninterruptibly().channel());
        }
        return on(loop, () -> {
            List<ChannelFuture> attempts = new ArrayList<>();
            for (int i = 0; i < STORM; i++) {
                attempts.add(i == LAST ? channels.get(i).connect(server, lastLocal) : channels.get(i).connect(server));
            }
            return attempts;
        });
    }

    private long delayed() {
        return on(loop, () -> stack.engine().counters().opensDelayed);
    }

    /** A turn of the loop for each look. */
    private void awaitConnections(int count) {
        while (on(loop, () -> stack.engine().connectionCount()) != count || on(loop, () -> stack.counters().flows)
                != count) {
            assertFalse(loop.isShuttingDown());
        }
    }

    private void assertAllButTheLastConnect(List<ChannelFuture> attempts) throws InterruptedException {
        mute.countDown();
        for (ChannelFuture attempt : attempts.subList(0, LAST)) {
            attempt.sync();
            lab.accepted();
        }
        awaitConnections(LAST);
        settle(loop);
        settle(lab.servers.next());
        assertFalse(lab.hasAccepted(), "the SYN of the one that was given up has left");
        for (ChannelFuture attempt : attempts) {
            attempt.channel().close().sync();
        }
        awaitConnections(0);
    }

    @Test
    void allConnectAndThoseThatWaitedAreCounted() throws InterruptedException {
        List<ChannelFuture> attempts = storm(client(), null);
        assertEquals(STORM - AT_ONCE, delayed());
        for (ChannelFuture attempt : attempts) {
            assertTrue(attempt.sync().channel().isActive());
            lab.accepted();
        }
        awaitConnections(STORM);
        assertEquals(STORM - AT_ONCE, delayed(), "none waits twice");
        assertEquals(STORM - AT_ONCE, stack.counters().value(stack.counters().metrics().stream()
                .filter(metric -> metric.name().equals("delayed.opens")).findFirst().orElseThrow()));
        for (ChannelFuture attempt : attempts) {
            attempt.channel().close().sync();
        }
        awaitConnections(0);
    }

    @Test
    void oneThatWaitsIsCancelledAndLeavesNothing() throws InterruptedException {
        StreamLab.keepBusy(lab.servers.next(), mute);
        InetSocketAddress local = new InetSocketAddress(InetAddress.ofLiteral("127.0.0.1"), LOCAL_PORT);
        List<ChannelFuture> attempts = storm(client(), local);
        ChannelFuture last = attempts.get(LAST);
        assertTrue(last.cancel(false));
        assertTrue(last.channel().closeFuture().await(PATIENCE_MILLIS));
        assertInstanceOf(CancellationException.class, last.cause());
        awaitConnections(LAST);
        assertAllButTheLastConnect(attempts);
        client().connect(server, local).sync();
    }

    @Test
    void theConnectTimeoutHoldsForOneThatWaits() throws InterruptedException {
        StreamLab.keepBusy(lab.servers.next(), mute);
        InetSocketAddress local = new InetSocketAddress(InetAddress.ofLiteral("127.0.0.1"), LOCAL_PORT);
        List<ChannelFuture> attempts = storm(client().option(ChannelOption.CONNECT_TIMEOUT_MILLIS, 1), local);
        ChannelFuture last = attempts.get(LAST);
        assertInstanceOf(ConnectTimeoutException.class, last.await().cause());
        assertTrue(last.channel().closeFuture().await(PATIENCE_MILLIS));
        awaitConnections(LAST);
        assertAllButTheLastConnect(attempts);
        client().connect(server, local).sync();
    }

    @Test
    void aLoopThatEndsTellsThoseThatWait() throws InterruptedException {
        StreamLab.keepBusy(lab.servers.next(), mute);
        List<ChannelFuture> attempts = storm(client(), null);
        assertTrue(lab.clients.shutdownGracefully(0, 10, TimeUnit.SECONDS).await(PATIENCE_MILLIS));
        for (ChannelFuture attempt : attempts) {
            assertTrue(attempt.isDone() && !attempt.isSuccess());
            assertFalse(attempt.channel().isOpen());
        }
    }
}
