package io.rdmaraw.tcp;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

/** Several received segments that the core gets as one: it answers and counts as if they had come one by one. */
class MergedSegmentsTest {
    @Test
    void theyAreDeliveredPieceByPieceAndAcknowledgedTogether() {
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
    void whatIsThereAlreadyIsPassedOver() {
        Dialogue d = Dialogue.established(Dialogue.plain()).withoutQuickAcks();
        d.hears("A 1 len 1500 ack 1").says();
        d.hears("A 1 len 3000 of 1000 ack 1").says("A 1 ack 3001 sack 1-1501");
        assertEquals(3000, d.events.received.size());
    }

    @Test
    void aheadOfTheirTurnTheyWait() {
        Dialogue d = Dialogue.established(Dialogue.plain());
        d.hears("A 1001 len 3000 of 1000 ack 1").says("A 1 ack 1 sack 1001-4001");
        assertEquals(3, d.engine.counters().outOfOrderSegments);
        d.hears("A 1 len 1000 ack 1").says("A 1 ack 4001");
        assertEquals(4000, d.events.received.size());
    }

    /** One that was held already is told as if it had come alone, so that its sender can undo what was not needed. */
    @Test
    void oneOfThemThatIsHeldAlreadyIsReported() {
        Dialogue d = Dialogue.established(Dialogue.plain());
        d.hears("A 2001 len 1000 ack 1").says("A 1 ack 1 sack 2001-3001");
        d.hears("A 1001 len 4000 of 1000 ack 1").says("A 1 ack 1 sack 2001-3001,1001-5001");
        assertEquals(1, d.engine.counters().duplicateSegments);
        d.hears("A 1001 len 2500 of 1000 ack 1").says("A 1 ack 1 sack 1001-3501,1001-5001");
        assertEquals(4, d.engine.counters().duplicateSegments);
    }

    /** RFC 5681 section 4.2: a sender without SACK counts duplicate acknowledgements. */
    @Test
    void withoutSackEachIsAnswered() {
        Dialogue d = Dialogue.established(Dialogue.plain(), "SA 0 ack 1 win 65535 mss 1000 ws 0");
        d.hears("A 1001 len 3000 of 1000 ack 1").says("A 1 ack 1", "A 1 ack 1", "A 1 ack 1");
        d.hears("A 1 len 1000 ack 1").says("A 1 ack 4001");
    }

    @Test
    void whatIsBeyondTheWindowIsCutOff() {
        Dialogue d = Dialogue.established(Dialogue.plain().receiveBufferBytes(2500));
        d.events.readAtOnce = false;
        d.hears("A 1 len 4000 of 1000 ack 1");
        assertEquals(2500, d.c.unreadBytes());
        assertEquals(3, d.c.unreadPieces());
    }
}
