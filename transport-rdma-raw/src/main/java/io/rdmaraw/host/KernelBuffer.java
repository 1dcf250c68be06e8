package io.rdmaraw.host;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.rdmaraw.ffi.PageMemory;

import java.nio.ByteBuffer;

/** What passes between a loop's buffers and the kernel's sockets: memory for the largest datagram. */
final class KernelBuffer implements AutoCloseable {
    static final int LENGTH_BYTES = 1 << 16;

    private final PageMemory memory = PageMemory.map(LENGTH_BYTES);
    private final ByteBuffer bytes = memory.view(0, LENGTH_BYTES);

    long address() {
        return memory.address();
    }

    /** Returns where a part of the content lies in native memory: copied here. */
    long copyIn(ByteBuf content, int index, int lengthBytes) {
        content.getBytes(index, bytes.clear().limit(lengthBytes));
        return memory.address();
    }

    /** Returns the first bytes as a buffer of their own. */
    ByteBuf copyOut(ByteBufAllocator allocator, int lengthBytes) {
        return allocator.buffer(lengthBytes).writeBytes(bytes.clear().limit(lengthBytes));
    }

    @Override
    public void close() {
        memory.close();
    }
}
