package io.rdmaraw.testsuite.net;

import io.rdmaraw.ffi.Libc;

/** Native memory for the frames that a link emulator holds, divided into slots of equal size. */
final class FrameSlots implements AutoCloseable {
    private final long base;
    private final int[] free;
    private final int[] lengths;
    private int freeCount;

    FrameSlots(int count) {
        base = Libc.allocateZeroed((long) count * LinkEmulator.FRAME_BYTES);
        free = new int[count];
        lengths = new int[count];
        for (int slot = count - 1; slot >= 0; slot--) {
            free[freeCount++] = slot;
        }
    }

    boolean isEmpty() {
        return freeCount == 0;
    }

    int acquire() {
        return free[--freeCount];
    }

    void release(int slot) {
        free[freeCount++] = slot;
    }

    long address(int slot) {
        return base + (long) slot * LinkEmulator.FRAME_BYTES;
    }

    int length(int slot) {
        return lengths[slot];
    }

    void length(int slot, int lengthBytes) {
        lengths[slot] = lengthBytes;
    }

    @Override
    public void close() {
        Libc.free(base);
    }
}
