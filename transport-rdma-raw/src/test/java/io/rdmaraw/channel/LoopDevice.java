package io.rdmaraw.channel;

import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelOption;
import io.netty.channel.IoEventLoopGroup;
import io.rdmaraw.device.DeviceQueue;
import io.rdmaraw.memory.SlotPool;
import io.rdmaraw.queue.FrameQueue;
import io.rdmaraw.queue.QueueFixture;
import io.rdmaraw.verbs.DeviceName;
import io.rdmaraw.verbs.StridingReceive;
import io.rdmaraw.verbs.flow.FlowSpec;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.concurrent.atomic.AtomicInteger;

/** A loop device for one test, and frames for it. */
final class LoopDevice {
    static final byte[] A = {2, 0, 0, 0, 0, 0xa};
    static final byte[] B = {2, 0, 0, 0, 0, 0xb};
    /** IEEE 802 local experimental EtherType 1. */
    static final int ETHER_TYPE = 0x88b5;
    /** Whether this test run expects direct access to the rings; null if it does not matter. */
    private static final String USES_RINGS = System.getProperty("io.rdmaraw.test.rings");
    private static final AtomicInteger COUNT = new AtomicInteger();

    final String name;

    /** Uses the device named by the system property, which must loop frames back, or a new one in memory. */
    LoopDevice() {
        this(System.getProperty("io.rdmaraw.test.device", nameInMemory()));
    }

    LoopDevice(String name) {
        this.name = name;
    }

    static LoopDevice inMemory() {
        return new LoopDevice(nameInMemory());
    }

    private static String nameInMemory() {
        return "soft:loop:test" + COUNT.incrementAndGet();
    }

    RdmaRawAddress to(byte[] mac) {
        return RdmaRawAddress.of(name, toMac(mac));
    }

    static FlowSpec toMac(byte[] mac) {
        return FlowSpec.builder().destinationMac(mac).etherType(ETHER_TYPE).build();
    }

    RdmaRawAddress sendOnly() {
        return RdmaRawAddress.of(name);
    }

    RdmaRawChannel bind(IoEventLoopGroup group, RdmaRawAddress address, ChannelHandler handler) {
        return bind(group, address, handler, true);
    }

    RdmaRawChannel bind(IoEventLoopGroup group, RdmaRawAddress address, ChannelHandler handler, boolean autoRead) {
        Channel channel = new Bootstrap().group(group).channel(RdmaRawChannel.class)
                .option(ChannelOption.AUTO_READ, autoRead)
                .handler(handler)
                .bind(address).syncUninterruptibly().channel();
        RdmaRawChannel bound = (RdmaRawChannel) channel;
        if (USES_RINGS != null && !new DeviceName(name).isSoftware()) {
            FrameQueue queue = bound.deviceQueue().frameQueue();
            assertEquals(Boolean.parseBoolean(USES_RINGS), QueueFixture.isDirect(queue), "direct verbs");
            assertEquals(QueueFixture.isDirect(queue) && RdmaRawIoHandlerConfig.defaults().compressedCompletions(),
                    QueueFixture.isCompressing(queue), "compressed completions");
            assertEquals(QueueFixture.isDirect(queue) && RdmaRawIoHandlerConfig.defaults().stridingReceive()
                    != StridingReceive.NEVER, QueueFixture.isStriding(queue), "striding receive queue");
        }
        return bound;
    }

    /** Returns how many slots of a channel's loop are neither free nor posted, except the padding slot. */
    static int slotsMissing(RdmaRawChannel channel) {
        return channel.eventLoop().submit(() -> slotsMissing(channel.deviceQueue())).syncUninterruptibly().getNow();
    }

    /** Does the same for a queue; called on its loop. */
    static int slotsMissing(DeviceQueue port) {
        FrameQueue queue = port.frameQueue();
        SlotPool slots = queue.slots();
        int padding = 1;
        if (!QueueFixture.isStriding(queue)) {
            return slots.bufferCount() - slots.available() - QueueFixture.postedReceives(queue) - padding;
        }
        return slots.bufferCount() - slots.strideLayout().strideCount() - slots.available() - padding
                + slots.strideLayout().chunkCount() - slots.availableChunks() - QueueFixture.postedReceives(queue);
    }

    /** Creates a frame in unregistered memory. Its payload starts with {@code number}. */
    static ByteBuf frame(byte[] destination, byte[] source, int number, int lengthBytes) {
        ByteBuf frame = Unpooled.buffer(lengthBytes);
        frame.writeBytes(destination).writeBytes(source).writeShort(ETHER_TYPE).writeInt(number);
        for (int i = frame.writerIndex(); i < lengthBytes; i++) {
            frame.writeByte(number + i);
        }
        return frame;
    }

    static int number(ByteBuf frame) {
        return frame.getInt(frame.readerIndex() + 14);
    }
}
