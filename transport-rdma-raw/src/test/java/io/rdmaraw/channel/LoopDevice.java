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
import io.rdmaraw.queue.QueueFixture;
import io.rdmaraw.queue.VerbsFrameQueue;
import io.rdmaraw.verbs.DeviceName;
import io.rdmaraw.verbs.StridingReceive;
import io.rdmaraw.verbs.flow.FlowSpec;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.concurrent.atomic.AtomicInteger;

/** A loop device of a test's own, and frames for it. */
final class LoopDevice {
    static final byte[] A = {2, 0, 0, 0, 0, 0xa};
    static final byte[] B = {2, 0, 0, 0, 0, 0xb};
    /** IEEE 802 local experimental EtherType 1. */
    static final int ETHER_TYPE = 0x88b5;
    /** Whether a run of the tests means to use the rings in place; null when it does not matter. */
    private static final String USES_RINGS = System.getProperty("io.rdmaraw.test.rings");
    private static final AtomicInteger COUNT = new AtomicInteger();

    final String name;

    /** The device that the system property names, which reaches itself too; else a new one in memory. */
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
            VerbsFrameQueue queue = (VerbsFrameQueue) bound.port().queue();
            assertEquals(Boolean.parseBoolean(USES_RINGS), queue.isDirect(), "direct verbs");
            assertEquals(queue.isDirect() && RdmaRawIoHandlerConfig.defaults().compressedCompletions(),
                    QueueFixture.isCompressing(queue), "compressed completions");
            assertEquals(queue.isDirect() && RdmaRawIoHandlerConfig.defaults().stridingReceive()
                    != StridingReceive.NEVER, QueueFixture.isStriding(queue), "striding receive queue");
        }
        return bound;
    }

    /** Returns how many slots of a channel's loop are neither free nor posted nor the one that pads short frames. */
    static int slotsMissing(RdmaRawChannel channel) {
        return channel.eventLoop().submit(() -> slotsMissing(channel.port())).syncUninterruptibly().getNow();
    }

    /** The same of a queue, on its loop. */
    static int slotsMissing(DeviceQueue port) {
        VerbsFrameQueue queue = (VerbsFrameQueue) port.queue();
        SlotPool slots = queue.slots();
        int padding = 1;
        if (!QueueFixture.isStriding(queue)) {
            return slots.slotCount() - slots.available() - QueueFixture.postedReceives(queue) - padding;
        }
        return slots.slotCount() - slots.strideLayout().strides() - slots.available() - padding
                + slots.strideLayout().chunks() - slots.availableChunks() - QueueFixture.postedReceives(queue);
    }

    /** A frame in unregistered memory whose payload starts with {@code number}. */
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
