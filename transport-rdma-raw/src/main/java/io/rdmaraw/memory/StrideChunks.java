package io.rdmaraw.memory;

import java.util.Arrays;

/**
 * Which chunks of a {@link StrideLayout} can be handed to the device. The device writes to a chunk as a whole, so it
 * may have it again only when no frame in any of its strides is held. For the owner of the slots.
 */
final class StrideChunks {
    private final StrideLayout layout;
    /** How many strides of a chunk are back. */
    private final int[] returned;
    private final int[] free;
    private int freeCount;

    StrideChunks(StrideLayout layout) {
        this.layout = layout;
        returned = new int[layout.chunks()];
        free = new int[layout.chunks()];
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

    boolean areAllBack() {
        return freeCount == free.length;
    }

    boolean isBack(int chunk) {
        return returned[chunk] == layout.stridesPerChunk();
    }

    /** Takes a chunk, or returns -1 when there is none. */
    int take() {
        if (freeCount == 0) {
            return -1;
        }
        int chunk = free[--freeCount];
        returned[chunk] = 0;
        return chunk;
    }

    /** Strides of one chunk are back. */
    void giveBack(int firstStride, int count) {
        int chunk = firstStride / layout.stridesPerChunk();
        returned[chunk] += count;
        if (returned[chunk] == layout.stridesPerChunk()) {
            free[freeCount++] = chunk;
        }
    }
}
