package io.rdmaraw.channel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.EventLoop;
import io.rdmaraw.queue.SharedDevice;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.net.InetSocketAddress;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;

/**
 * Server channels are notified of device events once, although several loops listen for them. They close when the
 * device is removed.
 */
@Timeout(60)
class RdmaRawSocketChannelDeviceEventsTest {
    private static final int LOOPS = 2;

    private final LoopDevice device = LoopDevice.inMemory();
    private final Queue<RdmaRawQueueEvent.Kind> told = new ConcurrentLinkedQueue<>();
    private SharedDevice shared;
    private StreamFixture fixture;

    @BeforeEach
    void open() {
        shared = SharedDevice.acquire(device.name);
        fixture = new StreamFixture(device, LOOPS, 1);
    }

    @AfterEach
    void shutDown() {
        fixture.close();
        shared.release();
    }

    private final class Listener extends ChannelInboundHandlerAdapter {
        private volatile Channel server;

        @Override
        public void handlerAdded(ChannelHandlerContext ctx) {
            server = ctx.channel();
        }

        @Override
        public void userEventTriggered(ChannelHandlerContext ctx, Object event) {
            told.add(((RdmaRawQueueEvent) event).kind());
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"127.0.0.1", "0.0.0.0"})
    void serverIsNotifiedOfRemovalOnceAndClosed(String address) throws InterruptedException {
        Listener listener = new Listener();
        InetSocketAddress bound = fixture.listen(address, new StreamFixture.Echo(), server -> server.handler(listener));
        Channel client = fixture.connect(new InetSocketAddress("127.0.0.1", bound.getPort()), new StreamFixture.Echo());
        Channel accepted = fixture.accepted();
        DeviceFaults.of(shared.context()).failDevice();
        assertCloses(listener.server, "the server");
        assertCloses(accepted, "the accepted end");
        assertCloses(client, "the client");
        // Pending notifications of the loops have been delivered after this.
        fixture.servers.forEach(loop -> StreamFixture.settle((EventLoop) loop));
        assertEquals(List.of(RdmaRawQueueEvent.Kind.DEVICE_REMOVED), List.copyOf(told));
    }

    @Test
    void serverIsNotifiedOfLinkOnceAndContinues() throws InterruptedException {
        Listener listener = new Listener();
        InetSocketAddress bound = fixture.listen("127.0.0.1", new StreamFixture.Echo(),
                server -> server.handler(listener));
        DeviceFaults faults = DeviceFaults.of(shared.context());
        faults.setPortUp(false);
        awaitTold(1);
        faults.setPortUp(true);
        awaitTold(2);
        // Pending notifications of the loops have been delivered after this.
        fixture.servers.forEach(loop -> StreamFixture.settle((EventLoop) loop));
        assertEquals(List.of(RdmaRawQueueEvent.Kind.PORT_DOWN, RdmaRawQueueEvent.Kind.PORT_UP), List.copyOf(told));
        assertTrue(fixture.connect(bound, new StreamFixture.Echo()).isActive());
        assertTrue(listener.server.isActive());
    }

    /** Ends with the timeout of the test. */
    private void awaitTold(int events) {
        while (told.size() < events) {
            fixture.servers.forEach(loop -> StreamFixture.settle((EventLoop) loop));
        }
    }

    private static void assertCloses(Channel channel, String name) throws InterruptedException {
        assertTrue(channel.closeFuture().await(Patience.SECONDS, TimeUnit.SECONDS),
                () -> name + " is open: " + channel);
    }
}
