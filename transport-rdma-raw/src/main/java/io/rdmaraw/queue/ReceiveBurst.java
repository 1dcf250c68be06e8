package io.rdmaraw.queue;

import io.netty.buffer.ByteBuf;
import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.ffi.NetworkOrder;
import io.rdmaraw.memory.RegisteredByteBufAllocator;
import io.rdmaraw.memory.SlotPool;
import io.rdmaraw.wire.EtherType;

/**
 * The frames of one poll. Reused for every poll; arrays of numbers in place of objects, so that nothing is allocated
 * and no reference is stored.
 */
public final class ReceiveBurst {
    private static final int COPIED = -1;
    private static final int ETHER_TYPE_AT = 12;

    private final int[] slotIndices = new int[FrameQueue.BURST_FRAMES];
    private final int[] lengthsBytes = new int[FrameQueue.BURST_FRAMES];
    private final int[] flowTags = new int[FrameQueue.BURST_FRAMES];
    private final boolean[] checksumsVerified = new boolean[FrameQueue.BURST_FRAMES];
    private final ByteBuf[] copies = new ByteBuf[FrameQueue.BURST_FRAMES];
    private SlotPool slots;
    private boolean tracked;
    private int size;
    private int takenEnd;
    /** Keeps the loads of {@link #fetchHeaders} from being optimised away. */
    @SuppressWarnings("unused")
    private int lastFetched;

    /** Returns the number of frames. */
    public int size() {
        return size;
    }

    /** Makes a frame of the burst a live buffer. To be called once for each: the caller owns its reference. */
    public ByteBuf takeFrame(int index) {
        takenEnd = index + 1;
        int slotIndex = slotIndices[index];
        ByteBuf frame;
        if (slotIndex == COPIED) {
            frame = copies[index];
            copies[index] = null;
        } else {
            frame = slots.openReceived(slotIndex, lengthsBytes[index]);
        }
        return tracked ? RegisteredByteBufAllocator.track(frame) : frame;
    }

    /** Returns behind the frame taken last; 0 before the first. */
    public int takenEnd() {
        return takenEnd;
    }

    /** Returns where a frame lies that is in a slot and not taken yet, all bytes of which can be read; else 0. */
    public long slotAddress(int index) {
        int slotIndex = slotIndices[index];
        return slotIndex == COPIED ? 0 : slots.slot(slotIndex).slotAddress();
    }

    /** Returns the length of a frame. */
    public int lengthBytes(int index) {
        return lengthsBytes[index];
    }

    /** Returns the tag of the flow rule that steered the frame here, 0 if none had one. */
    public int flowTag(int index) {
        return flowTags[index];
    }

    /** Returns behind the last of the frames from {@code index} on that one rule steered here. */
    public int endOfRun(int index) {
        int tag = flowTags[index];
        int end = index + 1;
        while (end < size && flowTags[end] == tag) {
            end++;
        }
        return end;
    }

    /** Returns behind the frames from {@code from} on and before {@code end} that have no VLAN tag. */
    public int endOfUntagged(int from, int end) {
        int index = from;
        while (index < end && !isTagged(index)) {
            index++;
        }
        return index;
    }

    private boolean isTagged(int index) {
        int slotIndex = slotIndices[index];
        if (slotIndex != COPIED) {
            return EtherType.isVlan(NetworkOrder.getU16(slots.slot(slotIndex).slotAddress() + ETHER_TYPE_AT));
        }
        ByteBuf copy = copies[index];
        return EtherType.isVlan(copy.getUnsignedShort(copy.readerIndex() + ETHER_TYPE_AT));
    }

    /** Returns the length of the frames from {@code from} on and before {@code end}, all together. */
    public int bytes(int from, int end) {
        int bytes = 0;
        for (int i = from; i < end; i++) {
            bytes += lengthsBytes[i];
        }
        return bytes;
    }

    /** Tells whether the device has verified the frame's IPv4 header and TCP or UDP checksum. */
    public boolean checksumVerified(int index) {
        return checksumsVerified[index];
    }

    /** Begins a new burst; every frame of the last has been taken. */
    void begin(SlotPool pool) {
        slots = pool;
        tracked = RegisteredByteBufAllocator.isReceivedTracked();
        size = 0;
        takenEnd = 0;
    }

    /**
     * Loads the beginning of every frame at once. The device has written them, so each load misses the cache; here the
     * misses overlap.
     *
     * @return the length of all frames
     */
    int fetchHeaders() {
        int fetched = 0;
        int bytes = 0;
        for (int i = 0; i < size; i++) {
            bytes += lengthsBytes[i];
            int slotIndex = slotIndices[i];
            if (slotIndex != COPIED) {
                fetched += NativeMemory.getByte(slots.slot(slotIndex).slotAddress());
            }
        }
        lastFetched = fetched;
        return bytes;
    }

    void addSlot(int slotIndex, int lengthBytes, int flowTag, boolean checksumVerified) {
        int index = size++;
        slotIndices[index] = slotIndex;
        lengthsBytes[index] = lengthBytes;
        flowTags[index] = flowTag;
        checksumsVerified[index] = checksumVerified;
    }

    void addCopy(ByteBuf copy, int flowTag, boolean checksumVerified) {
        copies[size] = copy;
        addSlot(COPIED, copy.readableBytes(), flowTag, checksumVerified);
    }
}
