package io.rdmaraw.channel;

import static io.rdmaraw.channel.StreamFixture.on;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.EventLoop;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;

/** Counts the doorbells when each connection is flushed by a separate task of the loop, as gRPC does. */
@Timeout(60)
class FlushesOfTasksTest {
    private static final int CONNECTIONS = 20;
    /** {@code Transmission.MAX_CONSOLIDATED_FLUSHES}. */
    private static final int MAX_HELD = 32;
    private static final int BYTES = 10;

    private final StreamFixture fixture = new StreamFixture(LoopDevice.inMemory(), 1, 1);
    private final AtomicInteger receivedBytes = new AtomicInteger();
    private final List<RdmaRawSocketChannel> clients = new ArrayList<>();
    private EventLoop loop;

    @ChannelHandler.Sharable
    private final class Counter extends ChannelInboundHandlerAdapter {
        @Override
        public void channelRead(ChannelHandlerContext ctx, Object msg) {
            receivedBytes.addAndGet(((ByteBuf) msg).readableBytes());
            ((ByteBuf) msg).release();
        }
    }

    @BeforeEach
    void connect() throws InterruptedException {
        InetSocketAddress server = fixture.listen(new Counter());
        for (int i = 0; i < CONNECTIONS; i++) {
            RdmaRawSocketChannel client = fixture.connect(server, new ChannelInboundHandlerAdapter());
            client.config().setOption(RdmaRawChannelOption.FLUSH_CONSOLIDATION, true);
            clients.add(client);
            fixture.accepted();
        }
        loop = clients.getFirst().eventLoop();
    }

    @AfterEach
    void shutDown() {
        fixture.close();
    }

    private void write(int client) {
        clients.get(client % CONNECTIONS).writeAndFlush(Unpooled.wrappedBuffer(new byte[BYTES]));
    }

    /** Returns the doorbells of the clients' loop; called on that loop. */
    private long doorbells() {
        return clients.getFirst().tcpStack().deviceQueue().frameQueue().counters().sendBursts;
    }

    private void awaitBytes(int count) {
        Patience.until(() -> receivedBytes.get() >= count, count + " bytes");
        assertEquals(count, receivedBytes.get());
    }

    /** Runs a number of flushes on the loop, each in a task, and returns how many doorbells they needed. */
    private long doorbellsOf(int flushes) throws InterruptedException {
        CompletableFuture<Long> doorbells = new CompletableFuture<>();
        CountDownLatch latch = new CountDownLatch(1);
        StreamFixture.keepBusy(loop, latch);
        long[] before = new long[1];
        loop.execute(() -> before[0] = doorbells());
        for (int i = 0; i < flushes - 1; i++) {
            int client = i;
            loop.execute(() -> write(client));
        }
        loop.execute(() -> {
            write(flushes - 1);
            doorbells.complete(doorbells() - before[0]);
        });
        latch.countDown();
        long taken = doorbells.join();
        awaitBytes(flushes * BYTES);
        return taken;
    }

    @Test
    void consecutiveTasksShareOneDoorbell() throws InterruptedException {
        assertEquals(1, doorbellsOf(CONNECTIONS));
    }

    /**
     * Without {@code FLUSH_CONSOLIDATION} each flush rings the doorbell at once, because later tasks may block the
     * loop.
     */
    @Test
    void flushesWithoutOptionAreSentAtOnce() throws InterruptedException {
        clients.forEach(client -> client.config().setOption(RdmaRawChannelOption.FLUSH_CONSOLIDATION, false));
        assertEquals(CONNECTIONS, doorbellsOf(CONNECTIONS));
    }

    @Test
    void immediateFlushSendsDeferredOnesToo() throws InterruptedException {
        clients.getLast().config().setOption(RdmaRawChannelOption.FLUSH_CONSOLIDATION, false);
        CompletableFuture<Long> doorbells = new CompletableFuture<>();
        loop.execute(() -> {
            long before = doorbells();
            loop.execute(() -> { });
            write(0);
            write(CONNECTIONS - 1);
            doorbells.complete(doorbells() - before);
        });
        assertEquals(1, doorbells.join());
        awaitBytes(2 * BYTES);
    }

    /**
     * Deferred flushes are transmitted before received data is delivered: a handler may block, and Netty may postpone
     * the remaining tasks.
     */
    @Test
    void deferredFlushesAreSentBeforeDelivery() {
        CompletableFuture<Long> doorbells = new CompletableFuture<>();
        loop.execute(() -> {
            long before = doorbells();
            loop.execute(() -> { });
            write(0);
            assertEquals(before, doorbells(), "it waits for the task behind it");
            clients.getFirst().tcpStack().deliver();
            doorbells.complete(doorbells() - before);
        });
        assertEquals(1, doorbells.join());
        awaitBytes(BYTES);
    }

    /** The number of deferred flushes is limited, so that the first peers can start while many more flushes follow. */
    @Test
    void numberOfDeferredFlushesIsLimited() throws InterruptedException {
        assertEquals(3, doorbellsOf(2 * MAX_HELD + 1));
    }

    /** The flush must not wait for the end of the task, which may block. */
    @Test
    void flushWithoutQueuedTaskIsSentAtOnce() {
        assertEquals(1L, on(loop, () -> {
            long before = doorbells();
            write(0);
            return doorbells() - before;
        }));
        awaitBytes(BYTES);
    }

    @Test
    void deferredFlushIsSentIfLaterTasksFlushNothing() throws InterruptedException {
        CountDownLatch latch = new CountDownLatch(1);
        StreamFixture.keepBusy(loop, latch);
        long[] doorbells = new long[2];
        loop.execute(() -> {
            doorbells[0] = doorbells();
            write(0);
        });
        loop.execute(() -> doorbells[1] = doorbells());
        latch.countDown();
        awaitBytes(BYTES);
        assertEquals(0, on(loop, () -> doorbells[1] - doorbells[0]), "it has waited for the task behind it");
    }

    /** Other threads keep adding tasks. Netty's loops run tasks for up to a second before they poll for frames. */
    @Test
    void deferredFlushIsSentAlthoughTasksKeepComing() {
        CompletableFuture<Integer> tasksBefore = new CompletableFuture<>();
        loop.execute(() -> {
            long before = doorbells();
            loop.execute(new Runnable() {
                private int done;

                @Override
                public void run() {
                    if (doorbells() != before) {
                        tasksBefore.complete(done);
                    } else {
                        done++;
                        loop.execute(this);
                    }
                }
            });
            write(0);
            assertEquals(before, doorbells(), "it waits for the task behind it");
        });
        assertEquals(1, tasksBefore.join());
        awaitBytes(BYTES);
    }

    @Test
    void laterTasksShareDoorbellIfEachFlushes() {
        CompletableFuture<Long> doorbells = new CompletableFuture<>();
        loop.execute(() -> {
            long before = doorbells();
            loop.execute(() -> {
                loop.execute(() -> {
                    write(2);
                    doorbells.complete(doorbells() - before);
                });
                write(1);
            });
            write(0);
        });
        assertEquals(1, doorbells.join());
        awaitBytes(3 * BYTES);
    }

    /** Several flushes within one task, as by a program that writes several messages. */
    @Test
    void flushesOfLastTaskAreNotDeferred() {
        assertEquals(3L, on(loop, () -> {
            long before = doorbells();
            write(0);
            write(1);
            write(2);
            return doorbells() - before;
        }));
        awaitBytes(3 * BYTES);
    }
}
