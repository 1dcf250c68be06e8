package io.rdmaraw.tcp;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The cost of an ACK depends on its news, not on the data in flight. The test counts the scoreboard entries
 * visited while a hostile peer tries to maximize them.
 */
class WorkPerAckTest {
    private static final int MSS = 216;
    private static final int SEGMENTS = 4000;
    private static final int END = 1 + SEGMENTS * MSS;
    private static final int ACKS = 3000;
    /** Limits per ACK, and per segment that is reported for the first time. */
    private static final int MAX_PER_ACK = 16;
    private static final int MAX_PER_SEGMENT = 4;

    private static Dialogue inFlight(TcpConfig.Builder config) {
        Dialogue d = Dialogue.established(config, "SA 0 ack 1 win 65535 mss " + MSS + " ws 8 sackOK");
        d.c.cwnd = 2 * END;
        d.hears("A 1 ack 1 win 60000");
        d.send(SEGMENTS * MSS).after(0);
        return d;
    }

    private static void assertBounded(Dialogue d, long before, int acks, int delivered) {
        long visited = d.c.sendState.scoreboard.visitedEntries - before;
        long most = (long) acks * MAX_PER_ACK + (long) delivered * MAX_PER_SEGMENT;
        assertTrue(visited <= most, visited + " entries for " + acks + " ACKs that reported " + delivered);
    }

    @Test
    void flightHasExpectedLength() {
        Dialogue d = inFlight(Dialogue.plain());
        assertEquals(SEGMENTS, d.c.sendState.scoreboard.entryCount());
    }

    @Test
    void alternatingBlocksCostLittle() {
        Dialogue d = inFlight(Dialogue.plain());
        long before = d.c.sendState.scoreboard.visitedEntries;
        for (int i = 0; i < ACKS; i++) {
            int end = i % 2 == 0 ? END : 1 + 2 * MSS;
            d.hears("A 1 ack 1 win 60000 sack " + (1 + MSS) + "-" + end);
        }
        assertBounded(d, before, ACKS, SEGMENTS);
    }

    @Test
    void randomBlocksCostLittle() {
        Dialogue d = inFlight(Dialogue.plain());
        long before = d.c.sendState.scoreboard.visitedEntries;
        Random random = new Random(1);
        for (int i = 0; i < ACKS; i++) {
            StringBuilder blocks = new StringBuilder();
            for (int b = 0; b < 4; b++) {
                int start = 1 + random.nextInt(SEGMENTS - 1);
                int end = start + 1 + random.nextInt(SEGMENTS - start);
                blocks.append(b == 0 ? "" : ",").append(1 + start * MSS).append('-').append(1 + end * MSS);
            }
            d.hears("A 1 ack 1 win 60000 sack " + blocks);
        }
        assertBounded(d, before, ACKS, SEGMENTS);
    }

    /**
     * SACKs the segments from the end towards the start, one per ACK, so that all reported segments lie after the
     * new one.
     */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void widestReorderingWindowCostsLittle(boolean reportAll) {
        Dialogue d = inFlight(Dialogue.plain());
        d.c.set(Tcb.REORDERING_SEEN);
        d.c.rackWindowMultiplier = Byte.MAX_VALUE;
        d.c.minRttNanos = 1_000_000_000L;
        d.c.srttNanos = 1_000_000_000L;
        d.after(1);
        long before = d.c.sendState.scoreboard.visitedEntries;
        for (int i = 0; i < ACKS; i++) {
            int start = END - (i + 1) * MSS;
            d.hears("A 1 ack 1 win 60000 sack " + start + "-" + (reportAll ? END : start + MSS));
        }
        assertEquals(0, d.c.sendState.scoreboard.lostBytes());
        assertBounded(d, before, ACKS, ACKS);
    }

    @Test
    void acksWithoutNewsCostLittle() {
        Dialogue d = inFlight(Dialogue.plain());
        d.c.set(Tcb.REORDERING_SEEN);
        d.c.rackWindowMultiplier = Byte.MAX_VALUE;
        d.c.minRttNanos = 1_000_000_000L;
        d.c.srttNanos = 1_000_000_000L;
        d.after(1).hears("A 1 ack 1 win 60000 sack " + (END - MSS) + "-" + END);
        long before = d.c.sendState.scoreboard.visitedEntries;
        for (int i = 0; i < ACKS; i++) {
            d.hears("A 1 ack 1 win " + (60_000 + i % 2) + " sack " + (END - MSS) + "-" + END);
        }
        assertBounded(d, before, ACKS, 0);
    }

    // ---- number of segments ----

    @Test
    void aTinySegmentSizeIsNotBelieved() {
        Dialogue d = Dialogue.established(Dialogue.plain(), "SA 0 ack 1 win 65535 mss 48 ws 0 sackOK");
        d.send(217).says("A 1 len 216 ack 1", "PA 217 len 1 ack 1");
        d = Dialogue.established(Dialogue.plain().limits(TcpLimits.builder().minSendMss(48).build()),
                "SA 0 ack 1 win 65535 mss 48 ws 0 sackOK");
        d.send(49).says("A 1 len 48 ack 1", "PA 49 len 1 ack 1");
    }

    @Test
    void segmentsInFlightAreLimited() {
        Dialogue d = inFlight(Dialogue.plain().limits(TcpLimits.builder().maxSegmentsInFlight(1000).build()));
        assertEquals(1000, d.c.sendState.scoreboard.entryCount());
        for (int acked = 1; acked <= SEGMENTS; acked++) {
            d.hears("A 1 ack " + (1 + acked * MSS) + " win 60000").after(0);
        }
        assertEquals(null, d.c.sendState);
        d.assertReleased();
    }
}
