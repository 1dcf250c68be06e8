package io.rdmaraw.channel;

import io.netty.buffer.AbstractByteBufAllocator;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.util.concurrent.FastThreadLocal;
import io.rdmaraw.memory.RegisteredByteBufAllocator;

/**
 * The default allocator of this transport's channels. On an event loop, direct buffers are slots of the loop's
 * registered memory, which the device sends without a copy if the write has the only reference to the buffer.
 *
 * <p>Netty's default allocator serves all other requests: those from other threads, for heap buffers, for more than a
 * slot, on a loop that has no queue yet, and while few slots are free. Content of such buffers is copied once when it
 * is sent, unless the device can send from any memory. Buffers can be released on any thread.
 *
 * <p>The allocator can also be set as {@link io.netty.channel.ChannelOption#ALLOCATOR} of NIO channels on the same
 * loops. A frame can then be forwarded from such a channel without a copy.
 */
public final class RdmaRawByteBufAllocator extends AbstractByteBufAllocator {
    /** The only instance. */
    public static final RdmaRawByteBufAllocator DEFAULT = new RdmaRawByteBufAllocator();

    /** Registered memory of the current thread's loop; empty on threads that are not loops. */
    private static final FastThreadLocal<RegisteredByteBufAllocator> REGISTERED = new FastThreadLocal<>();

    private RdmaRawByteBufAllocator() {
        super(true);
    }

    /** Sets the registered memory of the current thread, which is a loop; null removes it. */
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
