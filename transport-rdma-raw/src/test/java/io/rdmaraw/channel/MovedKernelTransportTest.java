package io.rdmaraw.channel;

import static io.rdmaraw.channel.LoopMoves.await;
import static io.rdmaraw.channel.LoopMoves.awaitOn;
import static io.rdmaraw.channel.LoopMoves.keepBusy;
import static io.rdmaraw.channel.StreamFixture.on;
import static io.rdmaraw.channel.StreamFixture.settle;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.netty.bootstrap.Bootstrap;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.EventLoop;
import io.netty.channel.IoEventLoop;
import io.netty.channel.IoHandlerFactory;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.SingleThreadIoEventLoop;
import io.rdmaraw.kernel.KernelTransport;
import io.rdmaraw.tcp.stack.TcpStackStatistics;
import io.rdmaraw.wire.ParseCounters;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;

/** The kernel socket of a channel follows it to another loop while the channel moves on or closes. */
@Timeout(120)
class MovedKernelTransportTest {
    private static final int LOOPS = 3;

    private final Loops group = new Loops(RdmaRawIoHandlerConfig.builder().device(LoopDevice.inMemory().name)
            .build());
    private final CountDownLatch goOn = new CountDownLatch(1);
    private ServerSocket server;
    private RdmaRawSocketChannel channel;
    private KernelTransport connection;
    private EventLoop before;
    private EventLoop first;
    private EventLoop last;

    /**
     * Once armed, blocks the loop at which a socket arrives, right after the check that its channel is on this loop.
     */
    private static final class Loops extends MultiThreadIoEventLoopGroup {
        private final CountDownLatch found = new CountDownLatch(1);
        private final CountDownLatch arrive = new CountDownLatch(1);
        private volatile boolean armed;

        Loops(RdmaRawIoHandlerConfig config) {
            super(LOOPS, RdmaRawIoHandler.newFactory(config));
        }

        @Override
        protected IoEventLoop newChild(Executor executor, IoHandlerFactory handlers, Object... args) {
            return new SingleThreadIoEventLoop(this, executor, handlers) {
                @Override
                public boolean inEventLoop(Thread thread) {
                    boolean in = super.inEventLoop(thread);
                    if (armed && in && isArriving()) {
                        armed = false;
                        found.countDown();
                        await(arrive);
                    }
                    return in;
                }
            };
        }

        private static boolean isArriving() {
            return StackWalker.getInstance().walk(frames -> frames.anyMatch(frame ->
                    frame.getClassName().endsWith("KernelTransport") && frame.getMethodName().equals("onArrival")));
        }
    }

    @BeforeEach
    void connect() throws Exception {
        server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
        channel = (RdmaRawSocketChannel) new Bootstrap().group(group).channel(RdmaRawSocketChannel.class)
                .handler(new ChannelInboundHandlerAdapter()).register().sync().channel();
        before = channel.eventLoop();
        connection = on(before, () -> {
            KernelTransport made = new KernelTransport(channel.connection(),
                    new TcpStackStatistics(null, new ParseCounters(), () -> 0, () -> 0, most -> null));
            made.connect(null, (InetSocketAddress) server.getLocalSocketAddress());
            return made;
        });
        awaitOn(before, "not connected", connection::isConnected);
        List<EventLoop> loops = new ArrayList<>();
        group.forEach(loop -> loops.add((EventLoop) loop));
        loops.remove(before);
        first = loops.getFirst();
        last = loops.getLast();
    }

    @AfterEach
    void shutDown() throws Exception {
        goOn.countDown();
        group.arrive.countDown();
        group.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
        server.close();
    }

    private void leave() throws InterruptedException {
        on(channel.eventLoop(), () -> {
            connection.detach();
            return null;
        });
        channel.deregister().sync();
    }

    private void join(EventLoop loop) throws InterruptedException {
        loop.register(channel).sync();
        on(loop, () -> {
            connection.attach(null, null);
            return null;
        });
    }

    @Test
    void socketFollowsChannelThatMovesDuringArrival() throws Exception {
        leave();
        keepBusy(before, goOn);
        join(first);
        leave();
        group.armed = true;
        goOn.countDown();
        await(group.found);
        join(last);
        group.arrive.countDown();
        Patience.until(() -> connection.loop() == last, "the socket to leave a loop that its channel has left");
    }

    /**
     * The close is sent to the loop that the socket is about to leave. It must take effect where the socket is by then,
     * and {@code SO_LINGER} 0 must still reset the connection.
     */
    @Test
    void movingSocketIsClosedOnItsLoopWithReset() throws Exception {
        CountDownLatch ready = new CountDownLatch(1);
        CountDownLatch leaveNow = new CountDownLatch(1);
        CountDownLatch close = new CountDownLatch(1);
        leave();
        keepBusy(before, goOn);
        join(first);
        before.execute(() -> {
            ready.countDown();
            await(leaveNow);
        });
        goOn.countDown();
        await(ready);
        keepBusy(first, close);
        try (Socket peer = server.accept()) {
            peer.setSoTimeout(Patience.MILLIS);
            channel.config().setSoLinger(0);
            channel.markClosed();
            connection.closeByChannel(true);
            leaveNow.countDown();
            settle(before);
            assertFalse(connection.isClosed(), "closed by a loop that the socket has left");
            close.countDown();
            assertThrows(SocketException.class, () -> peer.getInputStream().read());
        } finally {
            leaveNow.countDown();
            close.countDown();
        }
    }
}
