package io.rdmaraw.device;

import io.netty.buffer.ByteBuf;
import io.rdmaraw.memory.SlotPool;
import io.rdmaraw.queue.SharedDevice;
import io.rdmaraw.wire.EthernetHeader;
import io.rdmaraw.wire.FrameLength;
import io.rdmaraw.wire.VlanTag;

/** The permitted frame lengths of a port. */
public final class FrameLimits {
    private static final int ETHERTYPE_OFFSET = 12;

    private final String deviceName;
    private final int mtuBytes;

    FrameLimits(String deviceName, int mtuBytes) {
        this.deviceName = deviceName;
        this.mtuBytes = mtuBytes;
    }

    static FrameLimits of(SharedDevice device, int portNumber, int configuredSlotBytes) {
        int mtuBytes = device.context().mtuBytes(portNumber);
        int largestFrame = FrameLength.longest(mtuBytes);
        int slotBytes = SlotPool.capacityBytes(configuredSlotBytes);
        if (largestFrame > slotBytes) {
            throw new IllegalArgumentException("a frame of " + device.name() + " can have " + largestFrame
                    + " bytes (MTU " + mtuBytes + "), a slot only " + slotBytes + "; set slotBytes to at least "
                    + slotBytesFor(largestFrame));
        }
        return new FrameLimits(device.name(), mtuBytes);
    }

    private static int slotBytesFor(int frameBytes) {
        int slotBytes = 64;
        while (SlotPool.capacityBytes(slotBytes) < frameBytes) {
            slotBytes *= 2;
        }
        return slotBytes;
    }

    public int mtuBytes() {
        return mtuBytes;
    }

    public boolean allows(ByteBuf frame) {
        int lengthBytes = frame.readableBytes();
        return lengthBytes >= EthernetHeader.LENGTH_BYTES && (lengthBytes <= FrameLength.untagged(mtuBytes)
                || lengthBytes <= FrameLength.longest(mtuBytes, etherType(frame)));
    }

    private static int etherType(ByteBuf frame) {
        return frame.getUnsignedShort(frame.readerIndex() + ETHERTYPE_OFFSET);
    }

    public IllegalArgumentException refusalException(ByteBuf frame) {
        int lengthBytes = frame.readableBytes();
        if (lengthBytes < EthernetHeader.LENGTH_BYTES) {
            return new IllegalArgumentException("a frame of " + lengthBytes
                    + " bytes is shorter than the Ethernet header of " + EthernetHeader.LENGTH_BYTES);
        }
        return new IllegalArgumentException("a frame of " + lengthBytes + " bytes is longer than " + deviceName
                + " carries: MTU " + mtuBytes + " + Ethernet header " + EthernetHeader.LENGTH_BYTES
                + ", and " + VlanTag.LENGTH_BYTES + " more with an 802.1Q tag"
                + "; send shorter frames or raise the MTU");
    }
}
