package io.rdmaraw.queue;

import io.rdmaraw.ffi.PageMemory;

/** The work requests and completions of one queue: one mapping, cut from the front, cache-line aligned. */
public final class NativeArena implements AutoCloseable {
    private static final int CACHE_LINE_BYTES = 64;

    private final PageMemory memory;
    private long usedBytes;

    NativeArena(long lengthBytes) {
        memory = PageMemory.map(lengthBytes);
    }

    public long allocate(long lengthBytes) {
        long start = usedBytes;
        usedBytes = (start + lengthBytes + CACHE_LINE_BYTES - 1) / CACHE_LINE_BYTES * CACHE_LINE_BYTES;
        if (usedBytes > memory.lengthBytes()) {
            throw new IllegalStateException("native arrays exhausted at " + usedBytes + " bytes");
        }
        return memory.address() + start;
    }

    @Override
    public void close() {
        memory.close();
    }
}
