package io.rdmaraw.testsuite.net;

/**
 * Counters of frames in one direction of a {@link LinkEmulator}.
 *
 * @param received    frames received
 * @param delivered   frames sent at the other end
 * @param lost        frames dropped as random loss
 * @param overflowed  frames dropped because the buffer of the line was full
 * @param unkept      frames dropped because they were longer than {@link LinkEmulator#FRAME_BYTES}; a test that counts
 *                    frames should require 0
 * @param kernelDrops frames dropped by the kernel before the link emulator received them; a test that counts frames
 *                    should require 0
 */
public record LinkEmulatorCounters(long received, long delivered, long lost, long overflowed, long unkept,
        long kernelDrops) {
}
