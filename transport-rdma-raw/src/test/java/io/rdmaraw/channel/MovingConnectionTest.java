package io.rdmaraw.channel;

import static io.rdmaraw.channel.StreamFixture.on;
import static io.rdmaraw.channel.StreamFixture.settle;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.DefaultMaxMessagesRecvByteBufAllocator;
import io.netty.channel.EventLoop;
import io.netty.util.concurrent.Future;
import io.rdmaraw.metrics.RdmaRawTcpInfo;
import io.rdmaraw.tcp.stack.TcpStack;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.ToLongFunction;

/**
 * Both ends of a connection move between loops while data is in flight. No byte is lost, and no loop keeps state of the
 * connection when it has closed.
 */
@Timeout(60)
class MovingConnectionTest {
    private static final int LOOPS = 3;
    private static final int MOVES = 4;
    private static final int CHUNK_BYTES = 8_192;
    private static final int OUTSTANDING_BYTES = 1 << 18;
    private static final int BYTES_BETWEEN_MOVES = 1 << 19;

    private final StreamFixture fixture = StreamFixture.ofOneGroup(LoopDevice.inMemory(), LOOPS);
    private final List<EventLoop> loops = new ArrayList<>();
    private final Map<TcpStack, EventLoop> stacks = new LinkedHashMap<>();
    private final Talker talker = new Talker();
    private final Reader reader = new Reader();

    @BeforeEach
    void findLoops() {
        fixture.servers.forEach(loop -> loops.add((EventLoop) loop));
    }

    @AfterEach
    void shutDown() {
        fixture.close();
    }

    /** Sends bytes derived from their stream position as long as {@code wanted} is set, and checks the echo. */
    private static final class Talker extends ChannelInboundHandlerAdapter {
        private long sentBytes;
        private long receivedBytes;
        private boolean wanted = true;
        private Throwable failure;

        private static byte at(long position) {
            return (byte) (position * 31 + (position >>> 13));
        }

        @Override
        public void channelActive(ChannelHandlerContext ctx) {
            talk(ctx.channel());
        }

        @Override
        public void channelWritabilityChanged(ChannelHandlerContext ctx) {
            talk(ctx.channel());
        }

        private void talk(Channel channel) {
            while (wanted && sentBytes - receivedBytes < OUTSTANDING_BYTES && channel.isWritable()) {
                ByteBuf chunk = channel.alloc().directBuffer(CHUNK_BYTES);
                for (int i = 0; i < CHUNK_BYTES; i++) {
                    chunk.writeByte(at(sentBytes++));
                }
                channel.writeAndFlush(chunk);
            }
        }

        @Override
        public void channelRead(ChannelHandlerContext ctx, Object msg) {
            ByteBuf data = (ByteBuf) msg;
            while (data.isReadable()) {
                assertEquals(at(receivedBytes), data.readByte(), "the byte at " + receivedBytes);
                receivedBytes++;
            }
            data.release();
            talk(ctx.channel());
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
            failure = cause;
        }
    }

    /** Each check is a task on the loop, which therefore keeps turning. Ends with the timeout of the test. */
    private void awaitBack(RdmaRawSocketChannel client, long bytes) {
        while (on(client.eventLoop(), () -> talker.receivedBytes) < bytes) {
            assertNull(on(client.eventLoop(), () -> talker.failure));
            assertTrue(client.isActive());
        }
    }

    private void move(RdmaRawSocketChannel channel) throws InterruptedException {
        EventLoop next = loopAfter(channel);
        channel.deregister().sync();
        next.register(channel).sync();
        note(channel);
    }

    private EventLoop loopAfter(RdmaRawSocketChannel channel) {
        return loops.get((loops.indexOf(channel.eventLoop()) + 1) % LOOPS);
    }

    private void note(RdmaRawSocketChannel channel) {
        stacks.put(on(channel.eventLoop(), channel::tcpStack), channel.eventLoop());
    }

    @Test
    void noByteIsLostAndNoStateIsLeft() throws InterruptedException {
        RdmaRawSocketChannel client = fixture.connect(fixture.listen(new StreamFixture.Echo()), talker);
        RdmaRawSocketChannel child = fixture.accepted();
        note(client);
        note(child);
        for (int i = 0; i < MOVES; i++) {
            move(i % 2 == 0 ? client : child);
            move(i % 2 == 0 ? child : client);
            awaitBack(client, on(client.eventLoop(), () -> talker.receivedBytes) + BYTES_BETWEEN_MOVES);
        }
        on(client.eventLoop(), () -> talker.wanted = false);
        awaitBack(client, on(client.eventLoop(), () -> talker.sentBytes));
        assertEquals(LOOPS, stacks.size());
        assertEquals(2 * MOVES, count(stack -> stack.statistics().movedConnections));
        assertTrue(count(stack -> stack.statistics().forwardedSegments) > 0);
        assertEquals(0, count(stack -> stack.statistics().droppedForwards));
        assertTrue(count(stack -> stack.isForwarding() ? 1 : 0) > 0);
        client.close().sync();
        child.closeFuture().sync();
        while (count(stack -> stack.statistics().openConnections) > 0
                || count(stack -> stack.isForwarding() ? 1 : 0) > 0) {
            assertTrue(loops.stream().noneMatch(EventLoop::isShuttingDown));
        }
    }

    /** The old loop has released the connection, and the new loop, blocked in a handler, has not received it yet. */
    @Test
    void queriesWaitForArrivalOfConnection() throws InterruptedException {
        RdmaRawSocketChannel client = fixture.connect(fixture.listen(new StreamFixture.Echo()),
                new ChannelInboundHandlerAdapter());
        EventLoop before = client.eventLoop();
        EventLoop after = loopAfter(client);
        CountDownLatch joined = new CountDownLatch(1);
        CountDownLatch busy = new CountDownLatch(1);
        // Added before the channel leaves: adding a handler is a task of the channel's loop, and the test must not wait
        // for the next loop.
        client.pipeline().addLast(new ChannelInboundHandlerAdapter() {
            @Override
            public void channelRegistered(ChannelHandlerContext ctx) throws InterruptedException {
                joined.countDown();
                busy.await();
            }
        });
        client.deregister().sync();
        after.register(client);
        joined.await();
        Future<RdmaRawTcpInfo> info = client.tcpInfo();
        try {
            settle(before);
            assertFalse(info.isDone(), "a loop that has it no more was asked");
        } finally {
            busy.countDown();
        }
        assertEquals("ESTABLISHED", info.sync().getNow().state());
        assertSame(after, client.transport().loop());
    }

    /**
     * The channel has joined its new loop, but the old loop, blocked in a handler, still has the connection. Only the
     * old loop's thread may access the connection, even to report consumed bytes.
     */
    @Test
    void readsWaitForArrivalOfConnection() throws Exception {
        RdmaRawSocketChannel client = connectReader();
        EventLoop before = client.eventLoop();
        EventLoop after = loopAfter(client);
        CountDownLatch busy = new CountDownLatch(1);
        client.deregister().sync();
        before.execute(() -> awaitUninterruptibly(busy));
        try {
            after.register(client).sync();
            client.read();
            settle(after);
            assertEquals(1, reader.readBytes.get(), "it was read on a loop that does not have it");
        } finally {
            busy.countDown();
        }
        awaitRead(client, 2);
        assertSame(after, client.transport().loop());
    }

    /** As for reads, only the thread of the connection's loop may write. */
    @Test
    void writesWaitForArrivalOfConnection() throws Exception {
        RdmaRawSocketChannel client = fixture.connect(fixture.listen(new StreamFixture.Echo()), reader);
        EventLoop before = client.eventLoop();
        EventLoop after = loopAfter(client);
        CountDownLatch busy = new CountDownLatch(1);
        client.deregister().sync();
        before.execute(() -> awaitUninterruptibly(busy));
        Future<?> written;
        try {
            after.register(client).sync();
            written = client.writeAndFlush(Unpooled.wrappedBuffer(new byte[1]));
            settle(after);
            assertFalse(written.isDone(), "it was written on a loop that does not have it");
        } finally {
            busy.countDown();
        }
        written.sync();
        client.read();
        awaitRead(client, 1);
    }

    /**
     * The channel moves on before its connection has arrived. The connection then follows by way of a loop that the
     * channel has left, and that loop must not read.
     */
    @Test
    void connectionFollowsChannelThatMovesOn() throws Exception {
        RdmaRawSocketChannel client = connectReader();
        EventLoop before = client.eventLoop();
        CountDownLatch busy = new CountDownLatch(1);
        client.deregister().sync();
        before.execute(() -> awaitUninterruptibly(busy));
        try {
            loopAfter(client).register(client).sync();
            EventLoop last = loopAfter(client);
            client.deregister().sync();
            last.register(client).sync();
            client.read();
            settle(last);
        } finally {
            busy.countDown();
        }
        awaitRead(client, 2);
        assertSame(client.eventLoop(), client.transport().loop());
        assertEquals(Set.of(threadOf(before), threadOf(client.eventLoop())), reader.threads);
    }

    /**
     * The channel returns to the old loop before that loop has released the connection, so the connection stays there.
     */
    @Test
    void connectionStaysIfChannelHasReturned() throws Exception {
        RdmaRawSocketChannel client = connectReader();
        EventLoop before = client.eventLoop();
        EventLoop between = loopAfter(client);
        CountDownLatch left = new CountDownLatch(1);
        client.deregister().sync();
        Future<?> back = before.submit(() -> {
            awaitUninterruptibly(left);
            before.register(client);
        });
        try {
            between.register(client).sync();
            client.deregister().sync();
        } finally {
            left.countDown();
        }
        back.sync();
        settle(before);
        settle(between);
        client.read();
        awaitRead(client, 2);
        assertSame(before, client.transport().loop());
        assertEquals(Set.of(threadOf(before)), reader.threads);
    }

    private static Thread threadOf(EventLoop loop) {
        return on(loop, Thread::currentThread);
    }

    /** Connects a client that has read one byte while more bytes are available. */
    private RdmaRawSocketChannel connectReader() throws InterruptedException {
        RdmaRawSocketChannel client = fixture.connect(fixture.listen(new StreamFixture.Echo()), reader);
        fixture.accepted().writeAndFlush(Unpooled.wrappedBuffer(new byte[Reader.SENT_BYTES])).sync();
        client.read();
        awaitRead(client, 1);
        return client;
    }

    private void awaitRead(RdmaRawSocketChannel client, int bytes) {
        Patience.until(() -> reader.readBytes.get() >= bytes, bytes + " bytes");
        settle(client.eventLoop());
        assertEquals(bytes, reader.readBytes.get());
    }

    /** Reads one byte per {@code read()} and records the threads that read. */
    private static final class Reader extends ChannelInboundHandlerAdapter {
        private static final int SENT_BYTES = 10;

        private final AtomicInteger readBytes = new AtomicInteger();
        private final Set<Thread> threads = ConcurrentHashMap.newKeySet();

        @Override
        public void handlerAdded(ChannelHandlerContext ctx) {
            ctx.channel().config().setAutoRead(false)
                    .setRecvByteBufAllocator(new OneByteAllocator(threads).maxMessagesPerRead(1));
        }

        @Override
        public void channelRead(ChannelHandlerContext ctx, Object msg) {
            readBytes.addAndGet(((ByteBuf) msg).readableBytes());
            ((ByteBuf) msg).release();
        }
    }

    /** Called by the thread that reads, even if the handler runs on another thread. */
    @SuppressWarnings("deprecation") // Handle is replaced in Netty 5 only
    private static final class OneByteAllocator extends DefaultMaxMessagesRecvByteBufAllocator {
        private final Set<Thread> threads;

        OneByteAllocator(Set<Thread> threads) {
            this.threads = threads;
        }

        @Override
        public Handle newHandle() {
            return new MaxMessageHandle() {
                @Override
                public int guess() {
                    threads.add(Thread.currentThread());
                    return 1;
                }
            };
        }
    }

    private static void awaitUninterruptibly(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    private long count(ToLongFunction<TcpStack> what) {
        return stacks.entrySet().stream().mapToLong(at -> on(at.getValue(), () -> what.applyAsLong(at.getKey()))).sum();
    }
}
