package io.rdmaraw.wire;

import io.netty.buffer.ByteBuf;

import java.lang.foreign.MemorySegment;

/** Finds the native memory of buffers. */
public final class BufferAddress {
    private BufferAddress() {
    }

    /** Returns where a direct buffer's content lies; Netty's own buffers know it only when they may use Unsafe. */
    public static long of(ByteBuf buf) {
        if (buf.hasMemoryAddress()) {
            return buf.memoryAddress() + buf.readerIndex();
        }
        return MemorySegment.ofBuffer(buf.internalNioBuffer(buf.readerIndex(), buf.readableBytes())).address();
    }
}
