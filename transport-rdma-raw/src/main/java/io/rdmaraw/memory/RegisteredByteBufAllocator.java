package io.rdmaraw.memory;

import io.netty.buffer.AbstractByteBufAllocator;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.util.ResourceLeakDetector;

import java.util.concurrent.atomic.LongAdder;

/**
 * Allocates direct buffers in registered memory, which a channel can send without a copy.
 *
 * <p>A buffer is registered under three conditions: it is allocated on the thread of the loop that owns the
 * slots, it is not longer than a slot, and enough slots remain for receiving. All other buffers (heap buffers,
 * larger ones, other threads) come from Netty's default allocator and are copied once when they are sent.
 * {@link #unregisteredCount()} counts them. Buffers can be released on any thread.
 */
public final class RegisteredByteBufAllocator extends AbstractByteBufAllocator {
    /**
     * Sampling interval of the leak detector. A prime, so that regular allocation patterns do not hide one kind
     * of buffer.
     */
    private static final int LEAK_SAMPLING_INTERVAL = 13;

    private final SlotPool pool;
    private final int slotCapacityBytes;
    private final LongAdder unregistered = new LongAdder();
    private int reservedSlots;
    private int allocated;

    RegisteredByteBufAllocator(SlotPool pool, int slotCapacityBytes) {
        super(true);
        this.pool = pool;
        this.slotCapacityBytes = slotCapacityBytes;
    }

    /** Reserves free slots for receiving. While fewer are free, buffers are not registered. */
    public void setReservedSlots(int slotCount) {
        reservedSlots = slotCount;
    }

    /** Returns the number of direct buffers that were allocated outside the registered memory. */
    public long unregisteredCount() {
        return unregistered.sum();
    }

    /**
     * Returns whether Netty's leak detector tracks received frames: at its levels {@code advanced} and
     * {@code paranoid}. Sampling at the default level would allocate on a path that otherwise allocates
     * nothing.
     */
    public static boolean tracksReceivedFrames() {
        return ResourceLeakDetector.getLevel().compareTo(ResourceLeakDetector.Level.ADVANCED) >= 0;
    }

    /**
     * Returns a wrapper with which the leak detector tracks a buffer, or the buffer itself if the detector
     * skips it. The detector detects objects that become unreachable, but the pool always references the buffer
     * of a slot. Therefore it tracks a duplicate, which only holders of the wrapper reference.
     */
    public static ByteBuf track(ByteBuf buf) {
        ByteBuf duplicate = buf.duplicate();
        ByteBuf leakAware = toLeakAwareBuffer(duplicate);
        return leakAware == duplicate ? buf : leakAware;
    }

    /**
     * Returns whether to offer a buffer to the leak detector. At its default level it samples one of 128
     * buffers anyway.
     */
    private boolean isLeakSampled() {
        return tracksReceivedFrames() || ResourceLeakDetector.isEnabled() && ++allocated % LEAK_SAMPLING_INTERVAL == 0;
    }

    @Override
    protected ByteBuf newHeapBuffer(int initialCapacity, int maxCapacity) {
        return ByteBufAllocator.DEFAULT.heapBuffer(initialCapacity, maxCapacity);
    }

    @Override
    protected ByteBuf newDirectBuffer(int initialCapacity, int maxCapacity) {
        if (initialCapacity <= slotCapacityBytes && pool.isOwner(Thread.currentThread())
                && pool.available() > reservedSlots) {
            FrameBuf buf = pool.acquireUnopened();
            if (buf != null) {
                buf.open(initialCapacity, maxCapacity);
                return isLeakSampled() ? track(buf) : buf;
            }
        }
        unregistered.increment();
        return ByteBufAllocator.DEFAULT.directBuffer(initialCapacity, maxCapacity);
    }

    @Override
    public boolean isDirectBufferPooled() {
        return true;
    }
}
