package io.rdmaraw.channel;

import io.netty.buffer.ByteBuf;
import io.rdmaraw.memory.SlotPool;
import io.rdmaraw.queue.SharedDevice;

/** The frame lengths that a port carries. */
final class PortLimits {
    private static final int ETHERNET_HEADER_BYTES = 14;
    private static final int VLAN_TAG_BYTES = 4;
    private static final int ETHERTYPE_OFFSET = 12;
    private static final int TPID_8021Q = 0x8100;
    private static final int TPID_8021AD = 0x88a8;

    private final String deviceName;
    private final int mtuBytes;

    PortLimits(String deviceName, int mtuBytes) {
        this.deviceName = deviceName;
        this.mtuBytes = mtuBytes;
    }

    static PortLimits of(SharedDevice device, int portNumber, RdmaRawIoHandlerConfig config) {
        int mtuBytes = device.context().mtuBytes(portNumber);
        int largestFrame = mtuBytes + ETHERNET_HEADER_BYTES + VLAN_TAG_BYTES;
        int slotBytes = SlotPool.capacityBytes(config.slotBytes());
        if (largestFrame > slotBytes) {
            throw new IllegalArgumentException("a frame of " + device.name() + " can have " + largestFrame
                    + " bytes (MTU " + mtuBytes + "), a slot only " + slotBytes + "; set slotBytes to at least "
                    + slotBytesFor(largestFrame));
        }
        return new PortLimits(device.name(), mtuBytes);
    }

    private static int slotBytesFor(int frameBytes) {
        int slotBytes = 64;
        while (SlotPool.capacityBytes(slotBytes) < frameBytes) {
            slotBytes *= 2;
        }
        return slotBytes;
    }

    int mtuBytes() {
        return mtuBytes;
    }

    boolean allows(ByteBuf frame) {
        int lengthBytes = frame.readableBytes();
        return lengthBytes >= ETHERNET_HEADER_BYTES
                && (lengthBytes <= mtuBytes + ETHERNET_HEADER_BYTES || allowsTagged(frame, lengthBytes));
    }

    private boolean allowsTagged(ByteBuf frame, int lengthBytes) {
        int etherType = frame.getUnsignedShort(frame.readerIndex() + ETHERTYPE_OFFSET);
        return (etherType == TPID_8021Q || etherType == TPID_8021AD)
                && lengthBytes <= mtuBytes + ETHERNET_HEADER_BYTES + VLAN_TAG_BYTES;
    }

    IllegalArgumentException refusal(ByteBuf frame) {
        int lengthBytes = frame.readableBytes();
        if (lengthBytes < ETHERNET_HEADER_BYTES) {
            return new IllegalArgumentException("a frame of " + lengthBytes
                    + " bytes is shorter than the Ethernet header of " + ETHERNET_HEADER_BYTES);
        }
        return new IllegalArgumentException("a frame of " + lengthBytes + " bytes is longer than " + deviceName
                + " carries: MTU " + mtuBytes + " + Ethernet header " + ETHERNET_HEADER_BYTES
                + "; send shorter frames or raise the MTU");
    }
}
