package io.rdmaraw.memory;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.rdmaraw.ffi.NativeMemory;

import java.lang.foreign.MemorySegment;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.util.HexFormat;

/**
 * The buffer of one slot of a {@link Slab}. It exists as long as the slab. Releasing it returns the slot to its
 * {@link SlotPool}, and the next user of the slot gets the same instance, so that frames are not allocated.
 *
 * <p>If the buffer must grow beyond its slot, its content moves to memory outside the slab, which is not
 * registered ({@link #isRegistered()}). When the buffer is released, it returns to its slot.
 */
public final class FrameBuf extends NativeByteBuf {
    private static final int NONE = -1;
    private static final int DESCRIBED_BYTES = 160;

    private final SlotPool pool;
    private final long slotAddress;
    /** Length of the NIO views. The view of a stride extends to the end of its chunk. */
    private final int viewBytes;
    private final int slotIndex;
    private final int lkey;
    private int slotCapacityBytes;
    /** Number of strides that the frame occupies; 1 for an ordinary slot. */
    private int strideCount = 1;
    private ByteBuffer slotView;
    /**
     * The last view created by {@link #windowView}; headers have few different lengths, so it is often
     * reusable. Several threads may read the buffer: the start of the view is therefore derived from its
     * length, and not stored separately.
     */
    private ByteBuffer windowView;
    /**
     * A buffer that is sent after the content of this one and released with it. A slot of the same pool is
     * stored as an index, because storing references in old objects causes barriers in G1. Any other buffer is
     * stored as a reference.
     */
    private int attachedSlot = NONE;
    private ByteBuf attachedExternal;
    /** Memory outside the slab that replaces the slot after the buffer has outgrown it, or null. */
    private ByteBuffer overflow;
    /** Next buffer in the pool's list of buffers returned by other threads. */
    FrameBuf nextReturned;

    FrameBuf(SlotPool pool, long slotAddress, int slotCapacityBytes, int viewBytes, int slotIndex, int lkey) {
        this.pool = pool;
        this.viewBytes = viewBytes;
        this.slotAddress = slotAddress;
        this.slotCapacityBytes = slotCapacityBytes;
        this.slotIndex = slotIndex;
        this.lkey = lkey;
        address = slotAddress;
        capacityBytes = slotCapacityBytes;
    }

    /** Opens a free slot as an empty buffer with one reference. */
    FrameBuf open(int initialCapacityBytes, int maxCapacityBytes) {
        resetRefCnt();
        maxCapacity(maxCapacityBytes);
        capacityBytes = initialCapacityBytes;
        setIndex(0, 0);
        markReaderIndex();
        markWriterIndex();
        return this;
    }

    /** Opens a free slot as a buffer with one reference that contains a received frame. Hot path. */
    FrameBuf openFilled(int lengthBytes) {
        resetRefCnt();
        maxCapacity(Integer.MAX_VALUE);
        capacityBytes = slotCapacityBytes;
        setIndex(0, lengthBytes);
        markReaderIndex();
        markWriterIndex();
        return this;
    }

    /** Opens the first stride of a frame that may extend over further strides; see {@link #openFilled(int)}. */
    FrameBuf openFilled(int lengthBytes, int frameStrides, int strideBytes) {
        strideCount = frameStrides;
        slotCapacityBytes = frameStrides * strideBytes;
        return openFilled(lengthBytes);
    }

    /**
     * Resets this buffer to a single stride after release. Returns the number of strides that the frame
     * occupied.
     */
    int closeStrides(int strideBytes) {
        int closed = strideCount;
        strideCount = 1;
        slotCapacityBytes = strideBytes;
        return closed;
    }

    /**
     * Restricts the buffer to a part of its content, like a slice but without a new object. The caller must
     * hold the only reference.
     *
     * @param offset index of the first byte of the part
     */
    public FrameBuf restrictTo(int offset, int lengthBytes) {
        if (offset < 0 || lengthBytes < 0 || offset > writerIndex() - lengthBytes || refCnt() != 1) {
            throw new IndexOutOfBoundsException("window at " + offset + " of " + lengthBytes + " bytes of " + this);
        }
        address += offset;
        capacityBytes = lengthBytes;
        setIndex(0, lengthBytes);
        markReaderIndex();
        markWriterIndex();
        return this;
    }

    /**
     * Extends the readable bytes to the front, over the preceding bytes of the slot. Requires enough room in
     * the slot and that the caller holds the only reference, so that no one else needs those bytes.
     *
     * @return false if that is not possible; the buffer is then unchanged
     */
    public boolean prepend(int lengthBytes) {
        int roomBytes = (int) (readableAddress() - slotAddress);
        if (overflow != null || refCnt() != 1 || attached() != null || roomBytes < lengthBytes) {
            return false;
        }
        int readableBytes = readableBytes();
        address += readerIndex() - lengthBytes;
        capacityBytes = lengthBytes + readableBytes;
        setIndex(0, capacityBytes);
        markReaderIndex();
        markWriterIndex();
        return true;
    }

    /** Attaches a buffer and its reference. It is released when this buffer returns to its pool. */
    public void attach(ByteBuf buf) {
        if (buf instanceof FrameBuf slot && slot.pool == pool) {
            attachedSlot = slot.slotIndex;
        } else {
            attachedExternal = buf;
        }
    }

    /** Returns the {@linkplain #attach attached} buffer, or null. */
    public ByteBuf attached() {
        return attachedSlot == NONE ? attachedExternal : pool.slot(attachedSlot);
    }

    /** Returns the number of readable bytes of the {@linkplain #attach attached} buffer. */
    public int attachedBytes() {
        ByteBuf payload = attached();
        return payload == null ? 0 : payload.readableBytes();
    }

    boolean belongsTo(SlotPool other) {
        return pool == other;
    }

    /** Describes a slot that has not been released. A frame's headers are at the start of the slot. */
    String describeHeld() {
        byte[] head = new byte[Math.min(viewBytes, DESCRIBED_BYTES)];
        NativeMemory.getBytes(slotAddress, head, 0, head.length);
        return "slot " + slotIndex + ": references " + refCnt() + ", bytes from " + (address - slotAddress
                + readerIndex()) + " to " + (address - slotAddress + writerIndex()) + ", attached "
                + (attached() == null ? "nothing" : attached()) + ", content " + HexFormat.of().formatHex(head);
    }

    /** Returns the index of the slot in its slab. */
    public int slotIndex() {
        return slotIndex;
    }

    /** Returns the address of the first byte of the slot, regardless of the reader index. */
    public long slotAddress() {
        return slotAddress;
    }

    /** Returns the address of the first readable byte. The caller must hold a reference. Hot path. */
    public long readableAddress() {
        return address + readerIndex();
    }

    /** Returns the length of the slot in bytes. */
    public int slotCapacityBytes() {
        return slotCapacityBytes;
    }

    /** Returns the lkey of the memory region that contains the slot. */
    public int lkey() {
        return lkey;
    }

    /** Returns whether the content is in the registered slot, from which a device can send it. */
    public boolean isRegistered() {
        return overflow == null;
    }

    @Override
    public ByteBufAllocator alloc() {
        return pool.allocator();
    }

    @Override
    public ByteBuf capacity(int newCapacity) {
        checkNewCapacity(newCapacity);
        if (newCapacity > capacityLimit()) {
            moveToOverflow(newCapacity);
        }
        capacityBytes = newCapacity;
        trimIndicesToCapacity(newCapacity);
        return this;
    }

    private int capacityLimit() {
        return overflow == null ? slotCapacityBytes - (int) (address - slotAddress) : overflow.capacity();
    }

    private void moveToOverflow(int newCapacity) {
        ByteBuffer larger = ByteBuffer.allocateDirect(newCapacity);
        long largerAddress = MemorySegment.ofBuffer(larger).address();
        NativeMemory.copy(address, largerAddress, capacityBytes);
        overflow = larger;
        address = largerAddress;
    }

    @Override
    ByteBuffer nioView() {
        ensureAccessible();
        if (overflow != null) {
            return overflow;
        }
        ByteBuffer view = slotView;
        if (view == null) {
            view = NativeMemory.segment(slotAddress, viewBytes).asByteBuffer();
            // Other threads may see the reference at once, and ByteBuffer has fields that are not final.
            VarHandle.storeStoreFence();
            slotView = view;
        }
        int offset = (int) (address - slotAddress);
        return offset == 0 ? view : windowView(view, offset);
    }

    private ByteBuffer windowView(ByteBuffer view, int offset) {
        ByteBuffer window = windowView;
        if (window == null || window.capacity() != viewBytes - offset) {
            window = view.slice(offset, viewBytes - offset);
            VarHandle.storeStoreFence();
            windowView = window;
        }
        return window;
    }

    /**
     * Releases the last reference of a slot that has no attached buffer and has not outgrown its slot. Does not
     * return the slot to the pool; the caller does. Returns false and changes nothing if that is not possible.
     * Hot path.
     */
    boolean releaseIfLastReference() {
        if (attachedSlot != NONE || attachedExternal != null || overflow != null || !releaseLast()) {
            return false;
        }
        address = slotAddress;
        return true;
    }

    private void releaseAttached() {
        ByteBuf payload = attached();
        if (attachedSlot == NONE) {
            attachedExternal = null;
        }
        attachedSlot = NONE;
        payload.release();
    }

    @Override
    void deallocate() {
        if (overflow != null) {
            overflow = null;
            dropInternalView();
        }
        address = slotAddress;
        if (attachedSlot == NONE && attachedExternal == null) {
            pool.recycle(this);
            return;
        }
        try {
            releaseAttached();
        } finally {
            // Return the slot even if another holder has already released the attached buffer.
            pool.recycle(this);
        }
    }
}
