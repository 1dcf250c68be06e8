package io.rdmaraw.channel;

import io.netty.buffer.AbstractByteBufAllocator;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.util.concurrent.FastThreadLocal;
import io.rdmaraw.memory.RegisteredByteBufAllocator;

/**
 * The allocator of this transport's channels: on a loop it hands out the loop's registered memory, so that writing the
 * buffer to a channel copies nothing. On other threads, and for what does not fit a slot, it hands out buffers of
 * Netty's default allocator, which are copied once when they are sent. Buffers can be released on any thread.
 *
 * <p>Can be set as {@link io.netty.channel.ChannelOption#ALLOCATOR} of NIO channels on the same loops, whose content is
 * then forwarded as frames without a copy.
 */
public final class RdmaRawByteBufAllocator extends AbstractByteBufAllocator {
    /** The one instance. */
    public static final RdmaRawByteBufAllocator DEFAULT = new RdmaRawByteBufAllocator();

    /** The registered memory of the thread's loop; none on threads that are not loops. */
    private static final FastThreadLocal<RegisteredByteBufAllocator> REGISTERED = new FastThreadLocal<>();

    private RdmaRawByteBufAllocator() {
        super(true);
    }

    /** Makes this thread, a loop's, allocate from the given memory; null for none. */
    static void useOnThisThread(RegisteredByteBufAllocator registered) {
        if (registered == null) {
            REGISTERED.remove();
        } else {
            REGISTERED.set(registered);
        }
    }

    @Override
    protected ByteBuf newHeapBuffer(int initialCapacity, int maxCapacity) {
        return ByteBufAllocator.DEFAULT.heapBuffer(initialCapacity, maxCapacity);
    }

    @Override
    protected ByteBuf newDirectBuffer(int initialCapacity, int maxCapacity) {
        RegisteredByteBufAllocator registered = REGISTERED.getIfExists();
        return (registered == null ? ByteBufAllocator.DEFAULT : registered).directBuffer(initialCapacity, maxCapacity);
    }

    @Override
    public boolean isDirectBufferPooled() {
        return true;
    }
}
