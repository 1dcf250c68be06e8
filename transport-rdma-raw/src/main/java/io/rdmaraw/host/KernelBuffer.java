package io.rdmaraw.host;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.rdmaraw.ffi.PageMemory;

import java.nio.ByteBuffer;

/** Native memory for one datagram of the maximum size, between a loop's buffers and its kernel sockets. */
final class KernelBuffer implements AutoCloseable {
    static final int LENGTH_BYTES = 1 << 16;

    private final PageMemory memory = PageMemory.map(LENGTH_BYTES);
    private final ByteBuffer bytes = memory.view(0, LENGTH_BYTES);

    long address() {
        return memory.address();
    }

    /** Copies a part of the content into this memory and returns the address. */
    long copyIn(ByteBuf content, int index, int lengthBytes) {
        content.getBytes(index, bytes.clear().limit(lengthBytes));
        return memory.address();
    }

    /** Copies the first bytes into a new buffer. */
    ByteBuf copyOut(ByteBufAllocator allocator, int lengthBytes) {
        return allocator.buffer(lengthBytes).writeBytes(bytes.clear().limit(lengthBytes));
    }

    @Override
    public void close() {
        memory.close();
    }
}
