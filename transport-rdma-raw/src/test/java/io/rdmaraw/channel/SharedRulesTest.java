package io.rdmaraw.channel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelFuture;
import io.netty.util.ReferenceCountUtil;
import io.rdmaraw.verbs.DeviceName;
import io.rdmaraw.verbs.flow.FlowSpec;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

import java.util.HexFormat;
import java.util.concurrent.TimeUnit;

/**
 * Flow rules that cards treat specially: rules of several loops, the default rule and the sniffer, and frames with VLAN
 * tags.
 */
class SharedRulesTest {
    private static final byte[] GROUP = {1, 0, 0x5e, 0, 0, 7};

    private final LoopDevice device = new LoopDevice();
    private final RdmaRawEventLoopGroup group = new RdmaRawEventLoopGroup(3);
    private final FrameQueueHandler first = new FrameQueueHandler();
    private final FrameQueueHandler second = new FrameQueueHandler();

    @AfterEach
    void shutDown() {
        group.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
        first.messages.forEach(ReferenceCountUtil::release);
        second.messages.forEach(ReferenceCountUtil::release);
    }

    private static void expect(FrameQueueHandler handler, int number) throws InterruptedException {
        ByteBuf frame = handler.takeFrame();
        assertEquals(number, LoopDevice.number(frame));
        frame.release();
    }

    /** The loops have different numbers of rules before this one, so their rule tags differ. */
    @Test
    void twoLoopsReceiveOneGroup() throws InterruptedException {
        device.bind(group, device.to(LoopDevice.A), new FrameQueueHandler());
        device.bind(group, RdmaRawAddress.of(device.name, LoopDevice.toMac(GROUP)), second);
        RdmaRawChannel sender = device.bind(group, device.sendOnly(), new FrameQueueHandler());
        // The group assigns its first loop again.
        device.bind(group, RdmaRawAddress.of(device.name, LoopDevice.toMac(GROUP)), first);
        for (int i = 0; i < 3; i++) {
            sender.writeAndFlush(LoopDevice.frame(GROUP, LoopDevice.B, i, 64)).sync();
            expect(first, i);
            expect(second, i);
        }
    }

    /**
     * A rule that names the port of its queue is the same as one without a port: also on the same loop, and in the tag
     * of a group.
     */
    @Test
    void ruleMayNamePortOfItsQueue() throws InterruptedException {
        RdmaRawChannel sender = device.bind(group, device.sendOnly(), new FrameQueueHandler());
        int port = sender.deviceQueue().portNumber();
        FrameQueueHandler onSameLoop = new FrameQueueHandler();
        FlowSpec toA = LoopDevice.toMac(LoopDevice.A);
        FlowSpec toGroup = LoopDevice.toMac(GROUP);
        device.bind(group, RdmaRawAddress.of(device.name, toA, toGroup), first);
        device.bind(group, device.sendOnly(), new FrameQueueHandler());
        // The group assigns its first loop again, and then the second one.
        device.bind(group, RdmaRawAddress.of(device.name, toGroup.toBuilder().devicePort(port).build()), second);
        device.bind(group, RdmaRawAddress.of(device.name, port, toA.toBuilder().devicePort(port).build()), onSameLoop);
        for (int i = 0; i < 3; i++) {
            sender.writeAndFlush(LoopDevice.frame(LoopDevice.A, LoopDevice.B, i, 64)).sync();
            expect(first, i);
            expect(onSameLoop, i);
            sender.writeAndFlush(LoopDevice.frame(GROUP, LoopDevice.B, i, 64)).sync();
            expect(first, i);
            expect(second, i);
        }
    }

    @Test
    void unmatchedFramesReachDefaultRule() throws InterruptedException {
        device.bind(group, device.to(LoopDevice.A), first);
        device.bind(group, RdmaRawAddress.of(device.name, FlowSpec.parse("all-default allow-host-traffic")), second);
        RdmaRawChannel sender = device.bind(group, device.sendOnly(), new FrameQueueHandler());
        sender.writeAndFlush(LoopDevice.frame(LoopDevice.A, LoopDevice.B, 1, 64)).sync();
        sender.writeAndFlush(LoopDevice.frame(LoopDevice.B, LoopDevice.A, 2, 64)).sync();
        expect(first, 1);
        expect(second, 2);
    }

    @Test
    void loopHasAtMostOneSpecialRule() {
        RdmaRawEventLoopGroup one = new RdmaRawEventLoopGroup(1);
        try {
            device.bind(one, RdmaRawAddress.of(device.name, FlowSpec.parse("all-default allow-host-traffic")), first);
            ChannelFuture refused = new Bootstrap().group(one).channel(RdmaRawChannel.class).handler(second)
                    .bind(RdmaRawAddress.of(device.name, FlowSpec.parse("sniffer allow-host-traffic")))
                    .awaitUninterruptibly();
            assertTrue(refused.cause().getMessage().contains("bind that channel on another loop"),
                    refused.cause().getMessage());
        } finally {
            one.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
        }
    }

    /**
     * mlx5 checks the VLAN only if the rule names one, so the software drops tagged frames; softverbs does not match
     * them.
     */
    @Test
    void vlanFramesDoNotReachRuleWithoutVlan() throws InterruptedException {
        RdmaRawChannel receiver = device.bind(group, RdmaRawAddress.of(device.name,
                FlowSpec.parse("dst 10.0.0.2 udp dst-port 9")), first);
        RdmaRawChannel sender = device.bind(group, device.sendOnly(), second);
        sender.write(datagram("81000005", 1));
        sender.write(datagram("", 2));
        sender.write(datagram("88a80005", 3));
        sender.write(datagram("", 4));
        sender.writeAndFlush(datagram("", 5)).sync();
        for (int number : new int[] {2, 4, 5}) {
            ByteBuf frame = first.takeFrame();
            assertEquals(number, frame.getByte(frame.readerIndex() + 42));
            frame.release();
        }
        assertTrue(first.messages.isEmpty());
        assertEquals(new DeviceName(device.name).isSoftware() ? 0 : 2,
                receiver.deviceQueue().statistics().vlanTaggedFrames);
    }

    private static ByteBuf datagram(String tag, int number) {
        return Unpooled.wrappedBuffer(HexFormat.of().parseHex("020000000002" + "020000000001" + tag + "0800"
                + "4500002e00004000401126bb0a0000010a000002" + "00090009001a0000" + "%02x".formatted(number)
                + "00".repeat(17)));
    }
}
