package io.rdmaraw.testsuite.leak;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.socket.DatagramPacket;
import io.netty.util.ResourceLeakDetector;
import io.rdmaraw.channel.RdmaRawDatagramChannel;
import io.rdmaraw.channel.RdmaRawEventLoopGroup;
import io.rdmaraw.channel.RdmaRawIoHandlerConfig;
import io.rdmaraw.memory.Slab;
import io.rdmaraw.testsuite.net.Await;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/**
 * The leak detector reports slots that nobody releases. A loop holds its slots as long as it lives, so garbage
 * collection of the slot itself cannot show the leak.
 */
class SlotLeakTest {
    private static final String HINT = "forgotten by a test";

    private final ResourceLeakDetector.Level levelBefore = ResourceLeakDetector.getLevel();
    private final BlockingQueue<ByteBuf> slots = new LinkedBlockingQueue<>();
    private final RdmaRawEventLoopGroup group = new RdmaRawEventLoopGroup(1,
            RdmaRawIoHandlerConfig.builder().device("soft:loop:slotleak").slotCount(2048).build());
    private int heldBefore;

    @BeforeEach
    void setLevel() {
        heldBefore = Slab.heldSlabCount();
        ResourceLeakDetector.setLevel(ResourceLeakDetector.Level.PARANOID);
    }

    @AfterEach
    void shutDown() {
        ResourceLeakDetector.setLevel(levelBefore);
        slots.forEach(ByteBuf::release);
        group.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
        assertEquals(heldBefore, Slab.heldSlabCount());
    }

    /** Loses each received buffer, but keeps a reference to its slot so that the slot is not collected. */
    private final class Forgetful extends ChannelInboundHandlerAdapter {
        @Override
        public void channelRead(ChannelHandlerContext ctx, Object msg) {
            ByteBuf content = ((DatagramPacket) msg).content();
            content.touch(HINT);
            slots.add(slotOf(content));
        }
    }

    private static ByteBuf slotOf(ByteBuf buffer) {
        ByteBuf slot = buffer;
        while (slot.unwrap() != null) {
            slot = slot.unwrap();
        }
        return slot;
    }

    private Channel bind(ChannelInboundHandlerAdapter handler) {
        return new Bootstrap().group(group).channel(RdmaRawDatagramChannel.class).handler(handler)
                .bind(new InetSocketAddress(InetAddress.ofLiteral("127.0.0.1"), 0)).syncUninterruptibly().channel();
    }

    private static void awaitReport(String hint) {
        Await.until("a report of the leak detector", () -> {
            System.gc();
            // The detector reports leaks only when it starts to track another buffer.
            UnpooledByteBufAllocator.DEFAULT.directBuffer(1).release();
            return RecordingLeakDetector.takeReports().stream().anyMatch(report -> report.contains(hint));
        });
    }

    @Test
    void aForgottenFrameIsReported() {
        Channel receiver = bind(new Forgetful());
        Channel sender = bind(new ChannelInboundHandlerAdapter());
        sender.writeAndFlush(new DatagramPacket(Unpooled.wrappedBuffer(new byte[64]),
                (InetSocketAddress) receiver.localAddress())).syncUninterruptibly();
        Await.until("the datagram", () -> !slots.isEmpty());
        awaitReport(HINT);
    }

    @Test
    void aForgottenBufferOfTheLoopsAllocatorIsReported() {
        Channel channel = bind(new ChannelInboundHandlerAdapter());
        channel.eventLoop().submit(() -> {
            ByteBuf buffer = channel.alloc().directBuffer(64).touch(HINT + " that allocated it");
            slots.add(slotOf(buffer));
        }).syncUninterruptibly();
        awaitReport(HINT + " that allocated it");
    }
}
