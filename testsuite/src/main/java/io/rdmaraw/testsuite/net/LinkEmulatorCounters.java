package io.rdmaraw.testsuite.net;

/**
 * What one direction of a {@link LinkEmulator} has done with frames.
 *
 * @param received     came in
 * @param delivered    went out at the other end
 * @param lost         lost on purpose
 * @param overflowed   dropped because the line's buffer was full
 * @param unkept       dropped because longer than {@link LinkEmulator#FRAME_BYTES}: not wanted, a test that counts
 *                     should demand 0
 * @param kernelDrops  dropped by the kernel before the link emulator saw them: not wanted either
 */
public record LinkEmulatorCounters(long received, long delivered, long lost, long overflowed, long unkept,
        long kernelDrops) {
}
