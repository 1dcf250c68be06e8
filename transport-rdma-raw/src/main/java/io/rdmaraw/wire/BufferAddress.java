package io.rdmaraw.wire;

import io.netty.buffer.ByteBuf;

import java.lang.foreign.MemorySegment;

/** Determines the native memory address of buffers. */
public final class BufferAddress {
    private BufferAddress() {
    }

    /**
     * Returns the address of the first readable byte of a direct buffer. Netty's own buffers have a
     * {@code memoryAddress} only if they may use Unsafe.
     */
    public static long of(ByteBuf buf) {
        if (buf.hasMemoryAddress()) {
            return buf.memoryAddress() + buf.readerIndex();
        }
        return MemorySegment.ofBuffer(buf.internalNioBuffer(buf.readerIndex(), buf.readableBytes())).address();
    }
}
