package io.rdmaraw.wire;

import com.code_intelligence.jazzer.junit.FuzzTest;

/**
 * Any bytes at all as a frame; see {@link FrameChecks}. CONTRIBUTING.md has the command that fuzzes in earnest; the
 * ordinary build replays the kept inputs, which {@code src/test/scapy/malformed_frames.py} has made.
 */
class FrameParserFuzz {
    /** More fits no device here. */
    private static final int MAXIMUM_BYTES = 16 * 1024;
    private final FrameChecks checks = new FrameChecks();

    @FuzzTest
    void anyBytes(byte[] data) {
        if (data.length <= MAXIMUM_BYTES) {
            checks.check(data);
        }
    }
}
