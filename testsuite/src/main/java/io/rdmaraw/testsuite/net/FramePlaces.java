package io.rdmaraw.testsuite.net;

import io.rdmaraw.ffi.Libc;

/** Native memory for the frames that a link emulator holds, divided into places of equal size. */
final class FramePlaces implements AutoCloseable {
    private final long base;
    private final int[] free;
    private final int[] lengths;
    private int freeCount;

    FramePlaces(int count) {
        base = Libc.allocateZeroed((long) count * LinkEmulator.FRAME_BYTES);
        free = new int[count];
        lengths = new int[count];
        for (int place = count - 1; place >= 0; place--) {
            free[freeCount++] = place;
        }
    }

    boolean isEmpty() {
        return freeCount == 0;
    }

    int take() {
        return free[--freeCount];
    }

    void give(int place) {
        free[freeCount++] = place;
    }

    long address(int place) {
        return base + (long) place * LinkEmulator.FRAME_BYTES;
    }

    int length(int place) {
        return lengths[place];
    }

    void length(int place, int lengthBytes) {
        lengths[place] = lengthBytes;
    }

    @Override
    public void close() {
        Libc.free(base);
    }
}
