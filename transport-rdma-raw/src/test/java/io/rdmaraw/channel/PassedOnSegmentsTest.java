package io.rdmaraw.channel;

import static io.rdmaraw.channel.LoopMoves.loopThatIsNot;
import static io.rdmaraw.channel.StreamFixture.on;
import static io.rdmaraw.channel.StreamFixture.settle;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.DefaultMaxMessagesRecvByteBufAllocator;
import io.netty.channel.EventLoop;
import io.netty.channel.IoEventLoop;
import io.netty.channel.IoHandlerFactory;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.SingleThreadIoEventLoop;
import io.netty.util.concurrent.EventExecutor;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;

/** A migrated connection moves again while its former loop forwards segments to it. */
@Timeout(60)
class PassedOnSegmentsTest {
    private static final int LOOPS = 4;

    private final Loops loops = new Loops(StreamFixture.config(LoopDevice.inMemory().name).build());
    private final StreamFixture fixture = StreamFixture.ofOneGroup(loops);

    @AfterEach
    void shutDown() {
        fixture.close();
    }

    /** Calls the test before and after each task that one loop hands to another. */
    private static final class Loops extends MultiThreadIoEventLoopGroup {
        private volatile Handovers before = (from, to) -> { };
        private volatile Handovers after = (from, to) -> { };

        Loops(RdmaRawIoHandlerConfig config) {
            super(LOOPS, RdmaRawIoHandler.newFactory(config));
        }

        @Override
        protected IoEventLoop newChild(Executor executor, IoHandlerFactory handlers, Object... args) {
            return new SingleThreadIoEventLoop(this, executor, handlers) {
                @Override
                public void execute(Runnable task) {
                    tell(before, this);
                    super.execute(task);
                    tell(after, this);
                }
            };
        }

        private void tell(Handovers watch, EventLoop to) {
            for (EventExecutor from : this) {
                if (from.inEventLoop() && from != to) {
                    watch.handover((EventLoop) from, to);
                }
            }
        }
    }

    /** Called on the loop {@code from}. */
    private interface Handovers {
        void handover(EventLoop from, EventLoop to);
    }

    /** Reports the first read. */
    private static final class Reader extends ChannelInboundHandlerAdapter {
        private final CountDownLatch read = new CountDownLatch(1);

        @Override
        public void channelRead(ChannelHandlerContext ctx, Object msg) {
            ((ByteBuf) msg).release();
            read.countDown();
        }
    }

    private static void move(RdmaRawSocketChannel channel, EventLoop next) throws InterruptedException {
        LoopMoves.move(channel, next);
        // The loop answers only when the connection has arrived.
        assertTrue(channel.tcpInfo().sync().isSuccess());
    }

    /**
     * The loop that receives the segments forwards them while the connection moves from the second loop to the third.
     * The segments must reach the third loop after the connection; otherwise they would cause a reset.
     */
    @Test
    void forwardedSegmentsDoNotOvertakeTheirConnection() throws Exception {
        Reader reader = new Reader();
        RdmaRawSocketChannel client = fixture.connect(fixture.listen(new StreamFixture.Echo()), reader);
        RdmaRawSocketChannel child = fixture.accepted();
        EventLoop home = client.eventLoop();
        EventLoop second = loopThatIsNot(loops, home, child.eventLoop());
        EventLoop third = loopThatIsNot(loops, home, child.eventLoop(), second);
        move(client, second);
        CountDownLatch leaving = new CountDownLatch(1);
        CountDownLatch passedOn = new CountDownLatch(1);
        loops.after = (from, to) -> {
            if (from == home && leaving.getCount() == 0) {
                passedOn.countDown();
            }
        };
        loops.before = (from, to) -> {
            if (from == second && to == third && leaving.getCount() > 0) {
                leaving.countDown();
                child.writeAndFlush(Unpooled.wrappedBuffer(new byte[1]));
                assertTrue(awaitOpen(passedOn), "nothing was passed on");
            }
        };
        client.deregister().sync();
        third.register(client).sync();
        assertTrue(awaitOpen(leaving));
        assertTrue(awaitOpen(reader.read), () -> "both ends are open: " + client.isOpen() + ", " + child.isOpen());
    }

    /**
     * A forwarded segment reaches the second loop in the turn in which the connection leaves it. Only the third loop
     * may deliver its data.
     */
    @Test
    void forwardedSegmentsAreReadOnLoopOfConnection() throws Exception {
        Set<Thread> readers = ConcurrentHashMap.newKeySet();
        Reader reader = new Reader();
        RdmaRawSocketChannel client = fixture.connect(fixture.listen(new StreamFixture.Echo()), reader);
        client.config().setRecvByteBufAllocator(new ReaderOfRecord(readers));
        RdmaRawSocketChannel child = fixture.accepted();
        EventLoop home = client.eventLoop();
        EventLoop second = loopThatIsNot(loops, home, child.eventLoop());
        EventLoop third = loopThatIsNot(loops, home, child.eventLoop(), second);
        move(client, second);
        client.deregister().sync();
        CountDownLatch busy = new CountDownLatch(1);
        CountDownLatch passedOn = new CountDownLatch(1);
        CountDownLatch asked = new CountDownLatch(1);
        StreamFixture.keepBusy(second, busy);
        loops.after = (from, to) -> {
            if (from == home && to == second) {
                passedOn.countDown();
            } else if (from == third && to == second) {
                asked.countDown();
            } else if (from == second && to == third) {
                // Continues when the third loop has the connection.
                settle(third);
            }
        };
        child.writeAndFlush(Unpooled.wrappedBuffer(new byte[1])).sync();
        assertTrue(awaitOpen(passedOn));
        third.register(client).sync();
        assertTrue(awaitOpen(asked));
        busy.countDown();
        assertTrue(awaitOpen(reader.read), "nothing was read");
        assertEquals(Set.of(on(third, Thread::currentThread)), readers);
    }

    /** Records the threads that read. */
    private static final class ReaderOfRecord extends DefaultMaxMessagesRecvByteBufAllocator {
        private final Set<Thread> readers;

        ReaderOfRecord(Set<Thread> readers) {
            this.readers = readers;
        }

        @Override
        @SuppressWarnings("deprecation") // Handle is replaced in Netty 5 only
        public Handle newHandle() {
            return new MaxMessageHandle() {
                @Override
                public int guess() {
                    readers.add(Thread.currentThread());
                    return 1;
                }
            };
        }
    }

    private static boolean awaitOpen(CountDownLatch latch) {
        try {
            return latch.await(Patience.SECONDS, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }
}
