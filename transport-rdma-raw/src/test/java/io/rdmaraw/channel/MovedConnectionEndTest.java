package io.rdmaraw.channel;

import static io.rdmaraw.channel.LoopMoves.awaitOn;
import static io.rdmaraw.channel.LoopMoves.keepBusy;
import static io.rdmaraw.channel.LoopMoves.loopThatIsNot;
import static io.rdmaraw.channel.LoopMoves.move;
import static io.rdmaraw.channel.StreamFixture.on;
import static io.rdmaraw.channel.StreamFixture.settle;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoop;
import io.netty.util.concurrent.Future;
import io.rdmaraw.queue.SharedDevice;
import io.rdmaraw.tcp.stack.TcpStack;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.net.InetSocketAddress;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** The connection, its loop or the device fails while the channel moves to another loop. */
@Timeout(120)
class MovedConnectionEndTest {
    private static final int LOOPS = 4;
    private static final int MAX_ATTEMPTS = 32;

    private final LoopDevice device = LoopDevice.inMemory();
    private final StreamFixture fixture = StreamFixture.ofOneGroup(device, LOOPS);
    /** Opened by the test to release the first loop. */
    private final CountDownLatch goOn = new CountDownLatch(1);
    private RdmaRawSocketChannel client;
    private RdmaRawSocketChannel child;
    private EventLoop first;
    private EventLoop second;

    @BeforeEach
    void connect() throws Exception {
        InetSocketAddress server = fixture.listen(new StreamFixture.Echo());
        // A hash selects the child's loop. It must differ from the client's loop, which some tests terminate.
        for (int i = 0; i < MAX_ATTEMPTS && (client == null || child.eventLoop() == client.eventLoop()); i++) {
            client = (RdmaRawSocketChannel) fixture.client(new ChannelInboundHandlerAdapter())
                    .option(ChannelOption.AUTO_READ, false).connect(server).sync().channel();
            child = fixture.accepted();
        }
        first = client.eventLoop();
        assertNotSame(first, child.eventLoop());
        second = loopThatIsNot(fixture.clients, first, child.eventLoop());
    }

    @AfterEach
    void shutDown() {
        goOn.countDown();
        fixture.close();
    }

    private static TcpStack stackOf(EventLoop loop) {
        return on(loop, () -> ((RdmaRawEventLoop) loop).handler().openTcpStack());
    }

    private static void assertCloses(RdmaRawSocketChannel channel) throws InterruptedException {
        assertTrue(channel.closeFuture().await(Patience.SECONDS, TimeUnit.SECONDS), () -> "open: " + channel);
    }

    /**
     * A closed connection does not move: it still belongs to the core of the first loop. Setting an option on the
     * second loop must not access that core.
     */
    @Test
    void optionOfClosedConnectionDoesNotAccessFormerLoop() throws Exception {
        TcpStack stack = stackOf(first);
        child.writeAndFlush(Unpooled.wrappedBuffer(new byte[1])).sync();
        awaitOn(first, "nothing has come in", () -> stack.engine().counters().payloadBytesIn > 0);
        child.config().setSoLinger(0);
        child.close().sync();
        awaitOn(first, "the connection has not ended", () -> client.transport().isClosed());
        assertTrue(client.isOpen());
        move(client, second);
        settle(first);
        settle(second);
        keepBusy(first, goOn);
        assertNull(stack.engine().nextToPoll());
        client.config().setTcpNoDelay(true);
        settle(second);
        assertNull(stack.engine().nextToPoll(), "the second loop has put it in the first one's queue");
    }

    @Test
    void channelClosedDuringMoveFromEndingLoopClosesConnection() throws Exception {
        CountDownLatch close = new CountDownLatch(1);
        client.deregister().sync();
        keepBusy(first, goOn);
        second.register(client).sync();
        // Queued before the task that brings the connection.
        second.execute(() -> {
            LoopMoves.await(close);
            client.close();
        });
        Future<?> ended = first.shutdownGracefully(0, Patience.SECONDS, TimeUnit.SECONDS);
        goOn.countDown();
        try {
            assertTrue(ended.await(Patience.SECONDS, TimeUnit.SECONDS));
        } finally {
            close.countDown();
        }
        assertCloses(client);
        assertCloses(child);
    }

    /** Another device may lead to another network. */
    @Test
    void connectionDoesNotMoveToAnotherDevice() throws Exception {
        String other = LoopDevice.inMemory().name;
        RdmaRawEventLoopGroup group = new RdmaRawEventLoopGroup(1, StreamFixture.config(other).build());
        try {
            client.deregister().sync();
            ChannelFuture registration = group.register(client).await();
            assertTrue(registration.cause() instanceof IllegalStateException, () -> "" + registration.cause());
            assertTrue(registration.cause().getMessage().contains(other), registration.cause().getMessage());
            assertCloses(child);
        } finally {
            group.shutdownGracefully(0, Patience.SECONDS, TimeUnit.SECONDS).syncUninterruptibly();
        }
    }

    @Test
    void channelClosesIfLoopOfItsConnectionHasEnded() throws Exception {
        client.deregister().sync();
        first.shutdownGracefully(0, Patience.SECONDS, TimeUnit.SECONDS).sync();
        second.register(client).sync();
        assertCloses(client);
    }

    @Test
    void writeFailsIfLoopOfConnectionHasEnded() throws Exception {
        client.deregister().sync();
        first.shutdownGracefully(0, Patience.SECONDS, TimeUnit.SECONDS).sync();
        ChannelFuture[] written = new ChannelFuture[1];
        on(second, () -> {
            second.register(client);
            written[0] = client.writeAndFlush(Unpooled.wrappedBuffer(new byte[1]));
            return null;
        });
        assertTrue(written[0].await(Patience.SECONDS, TimeUnit.SECONDS), "a write that is never told of");
        assertFalse(written[0].isSuccess());
        assertCloses(client);
    }

    /** The device fails while the connection is still on its first loop, which is blocked in a handler. */
    @Test
    void connectionMovingToFailedDeviceIsClosed() throws Exception {
        SharedDevice shared = SharedDevice.acquire(device.name);
        try {
            TcpStack stack = stackOf(second);
            client.deregister().sync();
            keepBusy(first, goOn);
            second.register(client).sync();
            DeviceFaults.of(shared.context()).failDevice();
            awaitOn(second, "the stack lives on", stack::isClosed);
            goOn.countDown();
            assertCloses(child);
            assertCloses(client);
        } finally {
            goOn.countDown();
            shared.release();
        }
    }
}
