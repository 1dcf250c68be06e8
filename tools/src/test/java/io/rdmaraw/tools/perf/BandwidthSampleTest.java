package io.rdmaraw.tools.perf;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

class BandwidthSampleTest {
    private static BandwidthSample received(long frames, long lost) {
        return new BandwidthSample("server", 64, frames, 1, frames, lost);
    }

    /** The numbers of received frames show only the gaps between the first and the last. */
    @Test
    void framesLostAtBothEndsOfRunCount() {
        assertEquals(10, received(90, 3).ofSent(100).lost());
        assertEquals(100, received(0, BandwidthSample.UNKNOWN).ofSent(100).lost());
    }

    @Test
    void framesThatAreNotOfTheSenderHideNoLoss() {
        assertEquals(3, received(120, 3).ofSent(100).lost());
        assertEquals(BandwidthSample.UNKNOWN, received(90, BandwidthSample.UNKNOWN).ofSent(100).lost());
    }
}
