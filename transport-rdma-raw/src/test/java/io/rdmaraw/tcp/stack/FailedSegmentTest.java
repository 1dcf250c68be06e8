package io.rdmaraw.tcp.stack;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.rdmaraw.channel.RdmaRawEventLoopGroup;
import io.rdmaraw.channel.RdmaRawIoHandlerConfig;
import io.rdmaraw.channel.RdmaRawServerSocketChannel;
import io.rdmaraw.queue.SharedDevice;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.net.InetSocketAddress;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/** A segment that did not come in a burst of the queue ends its burst, even if it causes an exception. */
@Timeout(60)
class FailedSegmentTest {
    private static final String DEVICE = "soft:loop:failed-segment";
    private static final byte[] SEGMENT = HexFormat.of().parseHex("0200000000020200000000010800"
            + "4500002812340000" + "4006e748" + "c0a80001c0a80002" + "33330050010203040a0b0c0d50107fff00000000");

    private final RdmaRawEventLoopGroup group = new RdmaRawEventLoopGroup(1, RdmaRawIoHandlerConfig.builder()
            .device(DEVICE).receiveQueueDepth(256).sendQueueDepth(256).slotCount(1024).build());
    private SharedDevice device;
    private TcpStack stack;
    private int seen;

    @BeforeEach
    void findStack() throws InterruptedException {
        new ServerBootstrap().group(group).channel(RdmaRawServerSocketChannel.class)
                .childHandler(new ChannelInboundHandlerAdapter()).bind(new InetSocketAddress("127.0.0.1", 0)).sync();
        device = SharedDevice.acquire(DEVICE);
        stack = DeviceStacks.of(device).getFirst();
    }

    @AfterEach
    void shutDown() {
        device.release();
        group.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
    }

    private <T> T onLoop(Callable<T> call) throws InterruptedException {
        return stack.eventLoop().submit(call).sync().getNow();
    }

    private static ByteBuf frame() {
        return Unpooled.directBuffer().writeBytes(SEGMENT);
    }

    /** Has the stack receive segments, of which the first causes an exception. */
    private void fail(Consumer<TcpStack> receive) throws InterruptedException {
        onLoop(() -> {
            stack.observeSegments(segment -> {
                if (seen++ == 0) {
                    throw new IllegalStateException("expected");
                }
            });
            assertThrows(IllegalStateException.class, () -> receive.accept(stack));
            assertFalse(stack.isInBurst());
            stack.observeSegments(null);
            return null;
        });
    }

    @Test
    void unsteered() throws InterruptedException {
        ByteBuf frame = frame();
        fail(each -> each.receiveUnsteered(frame, true));
        assertEquals(0, frame.refCnt());
    }

    @Test
    void fromTheKernel() throws InterruptedException {
        ByteBuf frame = frame();
        fail(each -> each.receiveFromKernel(frame));
        assertEquals(0, frame.refCnt());
    }

    @Test
    void forwardedByAnotherLoop() throws InterruptedException {
        List<ByteBuf> frames = List.of(frame(), frame(), frame());
        fail(each -> each.receiveForwarded(new ForwardingTable.Batch(each, frames, List.of(true, true, true))));
        assertEquals(frames.size(), seen);
        frames.forEach(frame -> assertEquals(0, frame.refCnt()));
    }
}
