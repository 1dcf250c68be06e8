package io.rdmaraw.tcp;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

/**
 * Several received segments merged into one for the core, which answers and counts them as if they were separate.
 */
class MergedSegmentsTest {
    @Test
    void mergedSegmentsAreDeliveredInPiecesAndAcknowledgedOnce() {
        Dialogue d = Dialogue.established(Dialogue.plain()).withoutQuickAcks();
        int before = d.c.info().segmentsIn();
        d.hears("PA 1 len 3500 of 1000 ack 1").says("A 1 ack 3501");
        assertEquals(3500, d.events.received.size());
        assertEquals(4, d.c.info().segmentsIn() - before);
        assertEquals(1000, d.c.receiveMss, "what a full segment is");
        d.hears("A 3501 len 1000 ack 1").says();
        d.hears("A 4501 len 1000 ack 1").says("A 1 ack 5501");
    }

    @Test
    void receivedPartIsSkipped() {
        Dialogue d = Dialogue.established(Dialogue.plain()).withoutQuickAcks();
        d.hears("A 1 len 1500 ack 1").says();
        d.hears("A 1 len 3000 of 1000 ack 1").says("A 1 ack 3001 sack 1-1501");
        assertEquals(3000, d.events.received.size());
    }

    @Test
    void outOfOrderMergedSegmentsAreHeld() {
        Dialogue d = Dialogue.established(Dialogue.plain());
        d.hears("A 1001 len 3000 of 1000 ack 1").says("A 1 ack 1 sack 1001-4001");
        assertEquals(3, d.engine.counters().outOfOrderSegments);
        d.hears("A 1 len 1000 ack 1").says("A 1 ack 4001");
        assertEquals(4000, d.events.received.size());
    }

    /**
     * A duplicate is reported as if the segment had arrived alone, so that its sender can undo the
     * retransmission.
     */
    @Test
    void duplicateWithinMergedSegmentIsReported() {
        Dialogue d = Dialogue.established(Dialogue.plain());
        d.hears("A 2001 len 1000 ack 1").says("A 1 ack 1 sack 2001-3001");
        d.hears("A 1001 len 4000 of 1000 ack 1").says("A 1 ack 1 sack 2001-3001,1001-5001");
        assertEquals(1, d.engine.counters().duplicateSegments);
        d.hears("A 1001 len 2500 of 1000 ack 1").says("A 1 ack 1 sack 1001-3501,1001-5001");
        assertEquals(4, d.engine.counters().duplicateSegments);
    }

    /** RFC 5681 section 4.2: a sender without SACK counts duplicate ACKs. */
    @Test
    void eachOutOfOrderSegmentIsAnsweredWithoutSack() {
        Dialogue d = Dialogue.established(Dialogue.plain(), "SA 0 ack 1 win 65535 mss 1000 ws 0");
        d.hears("A 1001 len 3000 of 1000 ack 1").says("A 1 ack 1", "A 1 ack 1", "A 1 ack 1");
        d.hears("A 1 len 1000 ack 1").says("A 1 ack 4001");
    }

    @Test
    void partBeyondWindowIsCutOff() {
        Dialogue d = Dialogue.established(Dialogue.plain().initialReceiveBufferBytes(2500));
        d.events.readAtOnce = false;
        d.hears("A 1 len 4000 of 1000 ack 1");
        assertEquals(2500, d.c.unreadBytes());
        assertEquals(3, d.c.unreadPieces());
    }
}
