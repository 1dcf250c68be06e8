package io.rdmaraw.queue;

import io.rdmaraw.ffi.PageMemory;

/**
 * Native memory for the work requests and completions of a queue. Allocations are consecutive and aligned to
 * cache lines; they are freed together by {@link #close}.
 */
public final class NativeArena implements AutoCloseable {
    private static final int CACHE_LINE_BYTES = 64;

    private final PageMemory memory;
    private long usedBytes;

    NativeArena(long lengthBytes) {
        memory = PageMemory.map(lengthBytes);
    }

    /** Allocates zeroed memory and returns its address. */
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
