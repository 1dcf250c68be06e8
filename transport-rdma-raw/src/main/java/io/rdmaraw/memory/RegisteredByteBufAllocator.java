package io.rdmaraw.memory;

import io.netty.buffer.AbstractByteBufAllocator;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.util.ResourceLeakDetector;

import java.util.concurrent.atomic.LongAdder;

/**
 * An allocator whose direct buffers lie in registered memory, so that writing them to a channel copies nothing.
 *
 * <p>Registered buffers are handed out on the thread of the loop that owns the slots, up to a slot's length, and while
 * enough slots remain for receiving. Everything else (heap buffers, larger buffers, other threads) comes from Netty's
 * default allocator and is copied once when it is sent; {@link #unregisteredCount()} says how often. Buffers can be
 * released on any thread.
 */
public final class RegisteredByteBufAllocator extends AbstractByteBufAllocator {
    /** A prime, so that sampling meets every kind of buffer when allocations follow a regular pattern. */
    private static final int SHOWN_INTERVAL = 13;

    private final SlotPool pool;
    private final int slotBytes;
    private final LongAdder unregistered = new LongAdder();
    private int reservedSlots;
    private int handedOut;

    RegisteredByteBufAllocator(SlotPool pool, int slotBytes) {
        super(true);
        this.pool = pool;
        this.slotBytes = slotBytes;
    }

    /** Keeps {@code slotCount} free slots for the receive queue: below that, buffers come unregistered. */
    public void reserve(int slotCount) {
        reservedSlots = slotCount;
    }

    /** Returns how many direct buffers had to be taken from outside the registered memory. */
    public long unregisteredCount() {
        return unregistered.sum();
    }

    /**
     * Tells whether received frames are to be shown to Netty's leak detector: at its levels {@code advanced} and
     * {@code paranoid}. The sampling of the default level would allocate on a path that otherwise allocates nothing.
     */
    public static boolean isReceivedTracked() {
        return ResourceLeakDetector.getLevel().compareTo(ResourceLeakDetector.Level.ADVANCED) >= 0;
    }

    /**
     * Returns a wrapper through which the leak detector watches a buffer, or the buffer if the detector passes it over.
     * The detector waits until an object becomes unreachable, but the pool always reaches the buffer of a slot. So it
     * watches a duplicate, which only the holders of the wrapper reach.
     */
    public static ByteBuf track(ByteBuf buf) {
        ByteBuf shown = buf.duplicate();
        ByteBuf watched = toLeakAwareBuffer(shown);
        return watched == shown ? buf : watched;
    }

    /** At its default level the detector samples one of 128 buffers; it is offered only a sample to begin with. */
    private boolean isShown() {
        return isReceivedTracked() || ResourceLeakDetector.isEnabled() && ++handedOut % SHOWN_INTERVAL == 0;
    }

    @Override
    protected ByteBuf newHeapBuffer(int initialCapacity, int maxCapacity) {
        return ByteBufAllocator.DEFAULT.heapBuffer(initialCapacity, maxCapacity);
    }

    @Override
    protected ByteBuf newDirectBuffer(int initialCapacity, int maxCapacity) {
        if (initialCapacity <= slotBytes && pool.isOwner(Thread.currentThread()) && pool.available() > reservedSlots) {
            FrameBuf buf = pool.takeClosed();
            if (buf != null) {
                buf.open(initialCapacity, maxCapacity);
                return isShown() ? track(buf) : buf;
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
