package io.rdmaraw.memory;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.rdmaraw.ffi.NativeMemory;

import java.lang.foreign.MemorySegment;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.util.HexFormat;

/**
 * The buffer of one slot of a {@link Slab}. It lives as long as the slab: releasing it gives the slot back to its
 * {@link SlotPool}, and the next user of the slot gets the same instance again, so that a frame costs no allocation.
 *
 * <p>A buffer that must grow beyond its slot moves its content to memory outside the slab and goes on; on release it
 * returns to the slot. Such content is no longer registered ({@link #isRegistered()}).
 */
public final class FrameBuf extends NativeByteBuf {
    private static final int NONE = -1;
    private static final int DESCRIBED_BYTES = 160;

    private final SlotPool pool;
    private final long slotAddress;
    /** Length of the views: those of a stride reach to the end of its chunk. */
    private final int viewBytes;
    private final int slotIndex;
    private final int lkey;
    private int slotBytes;
    /** How many strides of a chunk the frame takes; 1 for any other slot. */
    private int strides = 1;
    private ByteBuffer slotView;
    /**
     * The view of the part that {@link #window} last showed; headers have few different lengths. Several threads may
     * read the buffer: where the view begins is told by its own length alone.
     */
    private ByteBuffer windowView;
    /**
     * What goes out behind this buffer's content, released with it: a slot of the same pool by its number, since G1
     * fences the storing of references into old objects, or any other buffer.
     */
    private int attachedSlot = NONE;
    private ByteBuf attachedForeign;
    /** The memory that replaces the slot since the buffer has outgrown it, or null. */
    private ByteBuffer overflow;
    /** The next buffer in the pool's list of buffers that other threads gave back. */
    FrameBuf nextReturned;

    FrameBuf(SlotPool pool, long slotAddress, int slotBytes, int viewBytes, int slotIndex, int lkey) {
        this.pool = pool;
        this.viewBytes = viewBytes;
        this.slotAddress = slotAddress;
        this.slotBytes = slotBytes;
        this.slotIndex = slotIndex;
        this.lkey = lkey;
        address = slotAddress;
        capacityBytes = slotBytes;
    }

    /** Makes the free slot a live buffer of one reference that holds nothing. */
    FrameBuf open(int initialCapacityBytes, int maxCapacityBytes) {
        resetRefCnt();
        maxCapacity(maxCapacityBytes);
        capacityBytes = initialCapacityBytes;
        setIndex(0, 0);
        markReaderIndex();
        markWriterIndex();
        return this;
    }

    /** Makes the free slot a live buffer of one reference that holds what the device has written. Hot. */
    FrameBuf openFilled(int lengthBytes) {
        resetRefCnt();
        maxCapacity(Integer.MAX_VALUE);
        capacityBytes = slotBytes;
        setIndex(0, lengthBytes);
        markReaderIndex();
        markWriterIndex();
        return this;
    }

    /** As {@link #openFilled(int)}, of a stride; the frame goes on in those behind it. */
    FrameBuf openFilled(int lengthBytes, int strideCount, int strideBytes) {
        strides = strideCount;
        slotBytes = strideCount * strideBytes;
        return openFilled(lengthBytes);
    }

    /** The frame is gone: this is the buffer of one stride again. Returns how many strides the frame had. */
    int closeStrides(int strideBytes) {
        int closed = strides;
        strides = 1;
        slotBytes = strideBytes;
        return closed;
    }

    /**
     * Makes the buffer begin at a later byte of its content and end earlier, as a slice does but without another
     * object. Only the one holder of the buffer may do this.
     *
     * @param offset of the first byte that stays, counted from index 0
     */
    public FrameBuf window(int offset, int lengthBytes) {
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
     * Makes the readable bytes begin earlier, over the bytes in front of them, if the slot has room there and the
     * caller holds the only reference: then no other holder can need those bytes.
     *
     * @return whether that could be done; else nothing has changed
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

    /** Ties a buffer's reference to this one: it is released when this buffer goes back to its pool. */
    public void attach(ByteBuf buf) {
        if (buf instanceof FrameBuf slot && slot.pool == pool) {
            attachedSlot = slot.slotIndex;
        } else {
            attachedForeign = buf;
        }
    }

    private ByteBuf attached() {
        return attachedSlot == NONE ? attachedForeign : pool.slot(attachedSlot);
    }

    /** Returns the number of bytes tied to this buffer by {@link #attach}. */
    public int attachedBytes() {
        ByteBuf payload = attached();
        return payload == null ? 0 : payload.readableBytes();
    }

    boolean isOf(SlotPool other) {
        return pool == other;
    }

    /** Describes a slot that has not been released; a frame's headers lie where the slot begins. */
    String describeHeld() {
        byte[] head = new byte[Math.min(viewBytes, DESCRIBED_BYTES)];
        NativeMemory.getBytes(slotAddress, head, 0, head.length);
        return "slot " + slotIndex + ": references " + refCnt() + ", bytes from " + (address - slotAddress
                + readerIndex()) + " to " + (address - slotAddress + writerIndex()) + ", attached "
                + (attached() == null ? "nothing" : attached()) + ", content " + HexFormat.of().formatHex(head);
    }

    /** Returns the slot's number in its slab. */
    public int slotIndex() {
        return slotIndex;
    }

    /** Returns the address of the slot's first byte, whatever the reader index is. */
    public long slotAddress() {
        return slotAddress;
    }

    /** Returns the address of the first readable byte of a buffer that the caller has a reference to. Hot. */
    public long readableAddress() {
        return address + readerIndex();
    }

    /** Returns the slot's length in bytes. */
    public int slotBytes() {
        return slotBytes;
    }

    /** Returns the local key of the memory region that the slot lies in. */
    public int lkey() {
        return lkey;
    }

    /** Tells whether the content lies in the registered slot, so that a device can read it in place. */
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
            moveOut(newCapacity);
        }
        capacityBytes = newCapacity;
        trimIndicesToCapacity(newCapacity);
        return this;
    }

    private int capacityLimit() {
        return overflow == null ? slotBytes - (int) (address - slotAddress) : overflow.capacity();
    }

    private void moveOut(int newCapacity) {
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
            return overflow.clear();
        }
        ByteBuffer view = slotView;
        if (view == null) {
            view = NativeMemory.segment(slotAddress, viewBytes).asByteBuffer();
            // Other readers may find it at once, and a ByteBuffer has fields that are not final.
            VarHandle.storeStoreFence();
            slotView = view;
        }
        int offset = (int) (address - slotAddress);
        // The previous user of the views may have set limits (internalNioBuffer does); slices keep within them.
        view.clear();
        return offset == 0 ? view : windowView(view, offset).clear();
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
     * Releases the last reference of a slot that holds nothing but its frame, without giving the slot back: the caller
     * does. Returns whether that could be done; else nothing has changed. Hot.
     */
    boolean releaseAlone() {
        if (attachedSlot != NONE || attachedForeign != null || overflow != null || !releaseLast()) {
            return false;
        }
        address = slotAddress;
        return true;
    }

    private void releaseAttached() {
        ByteBuf payload = attached();
        if (attachedSlot == NONE) {
            attachedForeign = null;
        }
        attachedSlot = NONE;
        payload.release();
    }

    @Override
    void deallocate() {
        overflow = null;
        address = slotAddress;
        if (attachedSlot == NONE && attachedForeign == null) {
            pool.giveBack(this);
            return;
        }
        try {
            releaseAttached();
        } finally {
            // Also when another holder has released what was attached.
            pool.giveBack(this);
        }
    }
}
