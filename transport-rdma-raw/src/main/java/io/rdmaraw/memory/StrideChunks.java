package io.rdmaraw.memory;

import java.util.Arrays;

/**
 * The free chunks of a {@link StrideLayout}. The device writes to a whole chunk, so a chunk is free only when
 * no frame in any of its strides is held. For the owner of the slots.
 */
final class StrideChunks {
    private final StrideLayout layout;
    /** Number of returned strides by chunk. */
    private final int[] returned;
    private final int[] free;
    private int freeCount;

    StrideChunks(StrideLayout layout) {
        this.layout = layout;
        returned = new int[layout.chunkCount()];
        free = new int[layout.chunkCount()];
        Arrays.fill(returned, layout.stridesPerChunk());
        for (int i = 0; i < free.length; i++) {
            free[i] = free.length - 1 - i;
        }
        freeCount = free.length;
    }

    StrideLayout layout() {
        return layout;
    }

    int available() {
        return freeCount;
    }

    boolean areAllFree() {
        return freeCount == free.length;
    }

    boolean isFree(int chunk) {
        return returned[chunk] == layout.stridesPerChunk();
    }

    /** Acquires a chunk. Returns its index, or -1 if none is free. */
    int acquire() {
        if (freeCount == 0) {
            return -1;
        }
        int chunk = free[--freeCount];
        returned[chunk] = 0;
        return chunk;
    }

    /** Releases strides of one chunk. */
    void release(int firstStride, int count) {
        int chunk = firstStride / layout.stridesPerChunk();
        returned[chunk] += count;
        if (returned[chunk] == layout.stridesPerChunk()) {
            free[freeCount++] = chunk;
        }
    }
}
