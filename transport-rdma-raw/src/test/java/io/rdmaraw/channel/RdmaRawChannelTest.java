package io.rdmaraw.channel;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.util.ReferenceCountUtil;
import io.rdmaraw.wire.EtherType;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

class RdmaRawChannelTest {
    private final LoopDevice device = new LoopDevice();
    private final RdmaRawEventLoopGroup group = new RdmaRawEventLoopGroup(2);
    private final FrameQueueHandler received = new FrameQueueHandler();

    @AfterEach
    void shutDown() {
        group.shutdownGracefully(0, 10, java.util.concurrent.TimeUnit.SECONDS).syncUninterruptibly();
        received.messages.forEach(ReferenceCountUtil::release);
    }

    /** Echoes each frame with its addresses exchanged. */
    static final class Echo extends ChannelInboundHandlerAdapter {
        @Override
        public void channelRead(ChannelHandlerContext ctx, Object msg) {
            ByteBuf frame = (ByteBuf) msg;
            frame.setBytes(0, LoopDevice.A).setBytes(6, LoopDevice.B);
            ctx.write(frame);
        }

        @Override
        public void channelReadComplete(ChannelHandlerContext ctx) {
            ctx.flush();
        }
    }

    @Test
    void framesComeBackWholeAndInOrder() throws InterruptedException {
        device.bind(group, device.to(LoopDevice.B), new Echo());
        RdmaRawChannel client = device.bind(group, device.to(LoopDevice.A), received);
        for (int i = 0; i < 300; i++) {
            client.writeAndFlush(LoopDevice.frame(LoopDevice.B, LoopDevice.A, i, 64 + i));
        }
        for (int i = 0; i < 300; i++) {
            ByteBuf frame = received.takeFrame();
            ByteBuf expected = LoopDevice.frame(LoopDevice.A, LoopDevice.B, i, 64 + i);
            assertEquals(ByteBufUtil.hexDump(expected), ByteBufUtil.hexDump(frame));
            frame.release();
        }
    }

    @Test
    void shortFramesArePaddedWithZeros() throws InterruptedException {
        device.bind(group, device.to(LoopDevice.A), received);
        RdmaRawChannel sender = device.bind(group, device.sendOnly(), new ChannelInboundHandlerAdapter());
        sender.writeAndFlush(LoopDevice.frame(LoopDevice.A, LoopDevice.B, 7, 20)).syncUninterruptibly();
        ByteBuf frame = received.takeFrame();
        assertEquals(60, frame.readableBytes());
        assertEquals(7, LoopDevice.number(frame));
        for (int i = 20; i < 60; i++) {
            assertEquals(0, frame.getByte(i));
        }
        frame.release();
    }

    @Test
    void frameOfInvalidLengthFailsItsPromiseOnly() throws InterruptedException {
        device.bind(group, device.to(LoopDevice.A), received);
        RdmaRawChannel sender = device.bind(group, device.sendOnly(), new ChannelInboundHandlerAdapter());
        ChannelFuture tooLong = sender.writeAndFlush(LoopDevice.frame(LoopDevice.A, LoopDevice.B, 1, 1515));
        ChannelFuture tooShort = sender.writeAndFlush(LoopDevice.frame(LoopDevice.A, LoopDevice.B, 1, 18)
                .writerIndex(13));
        ChannelFuture largest = sender.writeAndFlush(LoopDevice.frame(LoopDevice.A, LoopDevice.B, 2, 1514));
        assertInstanceOf(IllegalArgumentException.class, tooLong.awaitUninterruptibly().cause());
        assertTrue(tooLong.cause().getMessage().contains("1515"), tooLong.cause().getMessage());
        assertInstanceOf(IllegalArgumentException.class, tooShort.awaitUninterruptibly().cause());
        assertTrue(largest.awaitUninterruptibly().isSuccess());
        ByteBuf frame = received.takeFrame();
        assertEquals(2, LoopDevice.number(frame));
        frame.release();
        assertTrue(sender.isActive());
        assertFalse(sender.eventLoop().isShuttingDown());
    }

    /**
     * A frame may be four bytes longer if it has an 802.1Q tag, but not if it has an 802.1ad tag. Frames of invalid
     * length are rejected before they reach the provider, where they would fail.
     */
    @Test
    void onlyAVlanTagMakesAFrameLonger() throws InterruptedException {
        device.bind(group, device.to(LoopDevice.A), received);
        RdmaRawChannel sender = device.bind(group, device.sendOnly(), new ChannelInboundHandlerAdapter());
        ChannelFuture vlan = sender.writeAndFlush(tagged(EtherType.VLAN));
        ChannelFuture serviceVlan = sender.writeAndFlush(tagged(EtherType.SERVICE_VLAN));
        ChannelFuture next = sender.writeAndFlush(LoopDevice.frame(LoopDevice.A, LoopDevice.B, 2, 64));
        assertTrue(vlan.awaitUninterruptibly().isSuccess());
        assertInstanceOf(IllegalArgumentException.class, serviceVlan.awaitUninterruptibly().cause());
        assertTrue(next.awaitUninterruptibly().isSuccess());
        ByteBuf frame = received.takeFrame();
        assertEquals(2, LoopDevice.number(frame));
        frame.release();
        assertEquals(0, sender.deviceQueue().frameQueue().counters().recoveries);
    }

    /** Creates a frame four bytes longer than the longest frame without a tag. */
    private static ByteBuf tagged(int tagEtherType) {
        return LoopDevice.frame(LoopDevice.A, LoopDevice.B, 1, 1518).setShort(12, tagEtherType);
    }
}
