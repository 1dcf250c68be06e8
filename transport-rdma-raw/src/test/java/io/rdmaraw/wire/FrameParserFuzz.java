package io.rdmaraw.wire;

import com.code_intelligence.jazzer.junit.FuzzTest;

/**
 * Arbitrary bytes as a frame; see {@link FrameChecks}. {@code ci/fuzz} fuzzes for longer; the
 * normal build replays the stored inputs, which {@code src/test/scapy/malformed_frames.py} has generated.
 */
class FrameParserFuzz {
    /** No device here supports longer frames. */
    private static final int MAXIMUM_BYTES = 16 * 1024;
    private final FrameChecks checks = new FrameChecks();

    @FuzzTest
    void anyBytes(byte[] data) {
        if (data.length <= MAXIMUM_BYTES) {
            checks.check(data);
        }
    }
}
