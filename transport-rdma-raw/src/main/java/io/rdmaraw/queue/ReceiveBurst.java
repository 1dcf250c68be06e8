package io.rdmaraw.queue;

import io.netty.buffer.ByteBuf;
import io.rdmaraw.capture.FrameTap;
import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.ffi.NetworkOrder;
import io.rdmaraw.memory.RegisteredByteBufAllocator;
import io.rdmaraw.memory.SlotPool;
import io.rdmaraw.wire.EtherType;

import java.util.function.IntConsumer;

/**
 * The frames of one poll. Reused for every poll. Arrays of primitives replace frame objects, so that a frame in a
 * slot costs no allocation and no stored reference. Only frames that were copied out of their slots are stored as
 * buffers.
 */
public final class ReceiveBurst {
    private static final int COPIED = -1;
    private static final int ETHER_TYPE_OFFSET = 12;

    private final int[] slotIndices = new int[FrameQueue.MAX_BURST_FRAMES];
    private final int[] lengthsBytes = new int[FrameQueue.MAX_BURST_FRAMES];
    private final int[] flowTags = new int[FrameQueue.MAX_BURST_FRAMES];
    private final boolean[] checksumsVerified = new boolean[FrameQueue.MAX_BURST_FRAMES];
    private final ByteBuf[] copies = new ByteBuf[FrameQueue.MAX_BURST_FRAMES];
    private SlotPool slots;
    /** Set if Netty's leak detector tracks received frames, or a capture has them. */
    private boolean observed;
    /** The tap that has captured the frames and waits for {@link #endCapture}, or null. */
    private FrameTap tapOrNull;
    /** Positions of the captured frames in the tap. Null before the first capture. */
    private long[] positions;
    private IntConsumer takeListenerOrNull;
    private int size;
    private int takenEnd;
    /** Prevents the JIT compiler from eliminating the loads of {@link #prefetchHeaders}. */
    @SuppressWarnings("unused")
    private int lastPrefetched;

    /** Returns the number of frames. */
    public int size() {
        return size;
    }

    /**
     * Returns a frame as a buffer. Must be called exactly once for each frame; the caller owns the returned
     * reference.
     */
    public ByteBuf takeFrame(int index) {
        if (observed && takeListenerOrNull != null) {
            takeListenerOrNull.accept(index);
        }
        return takeMergedFrame(index);
    }

    /** Like {@link #takeFrame}, for a frame that is processed together with the one taken before. */
    public ByteBuf takeMergedFrame(int index) {
        takenEnd = index + 1;
        int slotIndex = slotIndices[index];
        ByteBuf frame;
        if (slotIndex == COPIED) {
            frame = copies[index];
            copies[index] = null;
        } else {
            frame = slots.openReceived(slotIndex, lengthsBytes[index]);
        }
        return observed && RegisteredByteBufAllocator.tracksReceivedFrames() ? RegisteredByteBufAllocator.track(frame)
                : frame;
    }

    /** Sets the index of the next frame to take. The frames from there on must be taken in order. */
    public void beginTaking(int from) {
        takenEnd = from;
    }

    /** Returns the index after the last frame taken since {@link #beginTaking}. */
    public int takenEnd() {
        return takenEnd;
    }

    /**
     * Returns the address of a frame that is in a slot and not taken yet, or 0 if the frame was copied out. Callers
     * may read beyond the end of a short frame, up to the end of its slot.
     */
    public long slotAddress(int index) {
        int slotIndex = slotIndices[index];
        return slotIndex == COPIED ? 0 : slots.slot(slotIndex).slotAddress();
    }

    /** Returns the length of a frame in bytes. */
    public int lengthBytes(int index) {
        return lengthsBytes[index];
    }

    /** Returns the tag of the flow rule that the frame matched, or 0 if the rule had none. */
    public int flowTag(int index) {
        return flowTags[index];
    }

    /**
     * Returns the end of the run that begins at an index. A run consists of consecutive frames with the same
     * flow tag.
     */
    public int endOfRun(int index) {
        int tag = flowTags[index];
        int end = index + 1;
        while (end < size && flowTags[end] == tag) {
            end++;
        }
        return end;
    }

    /** Returns the index of the first VLAN-tagged frame in a range, or {@code end} if there is none. */
    public int firstTagged(int from, int end) {
        int index = from;
        while (index < end && !isTagged(index)) {
            index++;
        }
        return index;
    }

    private boolean isTagged(int index) {
        int slotIndex = slotIndices[index];
        if (slotIndex != COPIED) {
            return EtherType.isVlan(NetworkOrder.getU16(slots.slot(slotIndex).slotAddress() + ETHER_TYPE_OFFSET));
        }
        ByteBuf copy = copies[index];
        return EtherType.isVlan(copy.getUnsignedShort(copy.readerIndex() + ETHER_TYPE_OFFSET));
    }

    /** Returns the total length in bytes of the frames in a range. */
    public int bytes(int from, int end) {
        int bytes = 0;
        for (int i = from; i < end; i++) {
            bytes += lengthsBytes[i];
        }
        return bytes;
    }

    /** Returns whether the device has verified the frame's IPv4 header checksum and TCP or UDP checksum. */
    public boolean checksumVerified(int index) {
        return checksumsVerified[index];
    }

    /** Clears the burst. All frames of the previous burst must have been taken. */
    void begin(SlotPool pool) {
        slots = pool;
        observed = RegisteredByteBufAllocator.tracksReceivedFrames();
        size = 0;
        takenEnd = 0;
    }

    /**
     * Loads the first byte of every frame in a slot. The device wrote these frames, so each load misses the cache; in
     * this loop the misses overlap.
     *
     * @return the total length of all frames in bytes
     */
    int prefetchHeaders() {
        int sum = 0;
        int bytes = 0;
        for (int i = 0; i < size; i++) {
            bytes += lengthsBytes[i];
            int slotIndex = slotIndices[i];
            if (slotIndex != COPIED) {
                sum += NativeMemory.getByte(slots.slot(slotIndex).slotAddress());
            }
        }
        lastPrefetched = sum;
        return bytes;
    }

    /** Passes the frames to a capture. It waits for {@link #endCapture}. */
    void capture(FrameTap tap) {
        if (!tap.beginBurst()) {
            return;
        }
        if (positions == null) {
            positions = new long[FrameQueue.MAX_BURST_FRAMES];
        }
        tapOrNull = tap;
        observed = true;
        boolean captured = false;
        try {
            for (int i = 0; i < size; i++) {
                int slotIndex = slotIndices[i];
                tap.add(slotIndex == COPIED ? copies[i].memoryAddress() + copies[i].readerIndex()
                        : slots.slot(slotIndex).slotAddress(), lengthsBytes[i]);
                positions[i] = tap.endFrame(false);
                captured |= positions[i] >= 0;
            }
            if (!captured) {
                endCapture();
            }
        } catch (RuntimeException | Error e) {
            tap.fail(e);
            endCapture();
        } finally {
            tap.end();
        }
    }

    /** Returns the tap that has captured the frames and waits for {@link #endCapture}, or null. */
    public FrameTap tapOrNull() {
        return tapOrNull;
    }

    /** Returns the position of a frame in the tap, or -1 if it was not captured. */
    public long capturedPosition(int index) {
        return positions[index];
    }

    /**
     * Sets a listener for the captured frames.
     *
     * @param listenerOrNull receives the index of each frame before it is taken, except those of
     *                       {@link #takeMergedFrame}; null for none
     */
    public void setTakeListener(IntConsumer listenerOrNull) {
        takeListenerOrNull = listenerOrNull;
    }

    /** Reports to the capture that all frames were processed. */
    public void endCapture() {
        tapOrNull.endBurst();
        tapOrNull = null;
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
