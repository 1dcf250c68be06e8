package io.rdmaraw.tcp;

import static io.rdmaraw.tcp.Dialogue.established;
import static io.rdmaraw.tcp.Dialogue.plain;
import static io.rdmaraw.tcp.TcpState.*;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmaraw.tcp.congestion.CongestionControl;
import io.rdmaraw.tcp.congestion.NewReno;
import io.rdmaraw.tcp.segment.Segment;
import org.junit.jupiter.api.Test;

/** Loss and its recovery: RFC 6298, 5681, 6582, 6675, 8985, 6937, 5682, 4015. The MSS is 1000, the RTT 10 ms. */
class LossTest {
    private static final String NO_SACK = "SA 0 ack 1 win 65535 mss 1000 ws 0";

    private static Dialogue sent(Dialogue d, int segments) {
        d.send(segments * 1000);
        String[] expected = new String[segments];
        for (int i = 0; i < segments; i++) {
            expected[i] = (i == segments - 1 ? "PA " : "A ") + (1 + i * 1000) + " len 1000 ack 1";
        }
        return d.says(expected);
    }

    @Test
    void timeoutsDoubleUntilConnectionFails() {
        Dialogue d = established(plain().maxTimeouts(4), NO_SACK).send(500).says("PA 1 len 500 ack 1");
        for (long expected = 210; expected <= 1680; expected *= 2) {
            assertEquals(expected, d.waits(10_000), 3);
            d.says("PA 1 len 500 ack 1");
            assertEquals(1000, d.c.congestionWindowBytes());
        }
        d.after(3370).saysNothing().heard("closed TIMED_OUT");
        d.assertReleased();
    }

    @Test
    void thresholdIsHalvedOnceAndSlowStartFollows() {
        Dialogue d = sent(established(plain().congestionControl(NewReno::new), NO_SACK), 8);
        d.after(212).says("A 1 len 1000 ack 1");
        assertEquals(4000, d.c.slowStartThresholdBytes());
        d.after(422).says("A 1 len 1000 ack 1");
        assertEquals(4000, d.c.slowStartThresholdBytes());
        assertEquals(1000, d.c.congestionWindowBytes());
        d.after(10).hears("A 1 ack 1001").says("A 1001 len 1000 ack 1", "A 2001 len 1000 ack 1");
        d.after(10).hears("A 1 ack 3001").says("A 3001 len 1000 ack 1", "A 4001 len 1000 ack 1",
                "A 5001 len 1000 ack 1",
                "A 6001 len 1000 ack 1");
        d.hears("A 1 ack 8001").saysNothing();
        d.assertReleased();
    }

    @Test
    void karnTakesNoSampleFromARetransmission() {
        Dialogue d = sent(established(plain(), NO_SACK), 1);
        long before = d.c.smoothedRttNanos();
        d.after(212).says("PA 1 len 1000 ack 1");
        d.after(422).says("PA 1 len 1000 ack 1");
        d.after(10).hears("A 1 ack 1001");
        assertEquals(before, d.c.smoothedRttNanos());
        d.send(10).says("PA 1001 len 10 ack 1");
        // The backoff remains until the next sample (RFC 6298 section 5).
        assertEquals(840, d.waits(1000), 3);
    }

    @Test
    void karnTakesNoSampleFromSegmentsAfterRetransmission() {
        Dialogue d = sent(established(plain(), NO_SACK), 3);
        long before = d.c.smoothedRttNanos();
        d.after(212).says("A 1 len 1000 ack 1");
        // The second and third segment were sent once, but their ACK had to wait for the first.
        d.after(10).hears("A 1 ack 3001");
        assertEquals(before, d.c.smoothedRttNanos());
    }

    /** The variance of a steady path approaches 0, but the peer may still delay an ACK. */
    @Test
    void timeoutLeavesRoomForDelayedAck() {
        for (int rtt : new int[] {1, 50, 100, 180, 300}) {
            Dialogue d = new Dialogue(plain()).connect().says("S 0").after(rtt);
            d.hears("SA 0 ack 1 win 65535 mss 1000 sackOK").says("A 1 ack 1");
            int sent = 1;
            for (int i = 0; i < 60; i++) {
                d.send(100).says("PA " + sent + " len 100 ack 1");
                sent += 100;
                d.after(rtt).hears("A 1 ack " + sent).saysNothing();
            }
            assertEquals(rtt, d.c.smoothedRttNanos() / 1e6, 0.5);
            assertTrue(d.c.retransmissionTimeoutNanos() >= (rtt + 200) * 999_000L,
                    d.c.retransmissionTimeoutNanos() + " ns at " + rtt + " ms");
            // RFC 8985 section 7.2: no probe and no retransmission while a delayed ACK may be on its way
            d.send(100).says("PA " + sent + " len 100 ack 1");
            d.after(rtt + 140).saysNothing().hears("A 1 ack " + (sent + 100));
            assertEquals(0, d.engine.counters().retransmittedSegments);
        }
    }

    @Test
    void rttFollowsRfc6298() {
        Dialogue d = established(plain());
        assertEquals(10_000_000, d.c.smoothedRttNanos());
        d.send(10).says("PA 1 len 10 ack 1").after(50).hears("A 1 ack 11");
        assertEquals(15_000_000, d.c.smoothedRttNanos());
        // rttvar = 3/4 * 5 + 1/4 * 40 = 13.75 ms
        assertEquals(13_750_000, d.c.rttvarNanos);
        assertEquals(215_000_000, d.c.retransmissionTimeoutNanos());
    }

    @Test
    void pathBytesExcludeQueues() {
        Dialogue d = established(plain());
        assertEquals(d.c.congestionWindowBytes(), d.c.bandwidthDelayBytes());
        d.send(10).says("PA 1 len 10 ack 1").after(50).hears("A 1 ack 11");
        // The minimum RTT is 10 ms, the smoothed RTT 15 ms by now.
        assertEquals(d.c.congestionWindowBytes() * 2 / 3, d.c.bandwidthDelayBytes(), 1);
    }

    @Test
    void threeDuplicateAcksRetransmitWithoutSack() {
        Dialogue d = sent(established(plain().congestionControl(NewReno::new), NO_SACK), 8);
        d.after(10);
        d.hears("A 1 ack 1").saysNothing().hears("A 1 ack 1").saysNothing();
        d.hears("A 1 ack 1").says("A 1 len 1000 ack 1");
        assertEquals(4000, d.c.slowStartThresholdBytes());
        d.hears("A 1 ack 1").hears("A 1 ack 1").saysNothing();
        // RFC 6582: a partial ACK retransmits the next hole at once.
        d.after(10).hears("A 1 ack 3001").says("A 3001 len 1000 ack 1");
        d.hears("A 1 ack 8001").saysNothing();
        assertEquals(4000, d.c.congestionWindowBytes());
        assertEquals(1, d.engine.counters().fastRecoveries);
        d.assertReleased();
    }

    @Test
    void firstTwoDuplicateAcksSendNewData() {
        // RFC 3042: ten segments fill the window; each of the first two duplicate ACKs allows one more.
        Dialogue d = established(plain(), NO_SACK);
        d.send(14_000);
        d.says("A 1 len 1000 ack 1", "A 1001 len 1000 ack 1", "A 2001 len 1000 ack 1", "A 3001 len 1000 ack 1",
                "A 4001 len 1000 ack 1", "A 5001 len 1000 ack 1", "A 6001 len 1000 ack 1", "A 7001 len 1000 ack 1",
                "A 8001 len 1000 ack 1", "A 9001 len 1000 ack 1");
        d.after(10).hears("A 1 ack 1").says("A 10001 len 1000 ack 1");
        d.hears("A 1 ack 1").says("A 11001 len 1000 ack 1");
        d.hears("A 1 ack 1").says("A 1 len 1000 ack 1");
    }

    @Test
    void rackRetransmitsOvertakenSegment() {
        Dialogue d = established(plain());
        d.send(1000).says("PA 1 len 1000 ack 1").after(1);
        d.send(1000).says("PA 1001 len 1000 ack 1").after(1);
        d.send(1000).says("PA 2001 len 1000 ack 1").after(10);
        // A segment sent 1 ms later has arrived: a quarter of the RTT remains for reordering.
        d.hears("A 1 ack 1 sack 1001-2001").saysNothing();
        assertEquals(2, d.waits(100), 1);
        d.says("PA 1 len 1000 ack 1");
        d.hears("A 1 ack 3001").saysNothing();
        d.assertReleased();
    }

    @Test
    void threeSackedSegmentsNeedNoReorderingWindow() {
        Dialogue d = sent(established(plain()), 8);
        d.after(10).hears("A 1 ack 1 sack 1001-4001").says("A 1 len 1000 ack 1");
        // PRR: one segment is sent per delivered one while the pipe is above ssthresh.
        assertEquals(7000, d.c.slowStartThresholdBytes());
        d.after(10).hears("A 1 ack 8001").saysNothing();
        assertEquals(7000, d.c.congestionWindowBytes());
        d.assertReleased();
    }

    @Test
    void lostRetransmissionIsDetected() {
        Dialogue d = sent(established(plain()), 5);
        d.after(10).hears("A 1 ack 1 sack 1001-4001").says("A 1 len 1000 ack 1");
        d.after(1).send(2000).says("A 5001 len 1000 ack 1", "PA 6001 len 1000 ack 1");
        d.after(10).hears("A 1 ack 1 sack 1001-7001").says("A 1 len 1000 ack 1");
        d.after(10).hears("A 1 ack 7001");
        assertEquals(0, d.engine.counters().retransmissionTimeouts);
    }

    /** No later segment exists that RACK could use. A probe detects the loss long before the timeout of 210 ms. */
    @Test
    void lostRetransmissionIsProbedIfNothingFollows() {
        Dialogue d = sent(established(plain()), 4);
        d.after(10).hears("A 1 ack 1 sack 1001-4001").says("A 1 len 1000 ack 1");
        d.after(21).saysNothing();
        d.after(3).says("A 1 len 1000 ack 1");
        assertEquals(1, d.engine.counters().tailLossProbes);
        assertEquals(0, d.engine.counters().retransmissionTimeouts);
        // Only one probe is sent; then the RTO applies.
        d.after(150).saysNothing();
        d.after(60).says("A 1 len 1000 ack 1");
        assertEquals(1, d.engine.counters().retransmissionTimeouts);
    }

    @Test
    void tailIsProbedAfterTwoRoundTrips() {
        Dialogue d = sent(established(plain()), 4);
        assertEquals(22, d.waits(1000), 2);
        d.says("PA 3001 len 1000 ack 1");
        assertEquals(1, d.engine.counters().tailLossProbes);
        // The probe shows that the other segments are missing.
        d.after(10).hears("A 1 ack 1 sack 3001-4001");
        // PRR: one segment was delivered, so one may be sent.
        d.after(5).says("A 1 len 1000 ack 1");
        d.after(5).hears("A 1 ack 1001 sack 3001-4001").says("A 1001 len 1000 ack 1", "A 2001 len 1000 ack 1");
        assertEquals(0, d.engine.counters().retransmissionTimeouts);
    }

    private static Dialogue probed() {
        Dialogue d = sent(established(plain()), 4);
        d.waits(1000);
        return d.says("PA 3001 len 1000 ack 1").after(10);
    }

    @Test
    void probeThatRepairsLossReducesWindowOnce() {
        Dialogue d = probed().hears("A 1 ack 4001");
        // The ACK may be a late one for the original; the next ACK decides.
        assertTrue(d.c.congestionWindowBytes() >= 10_000);
        d.send(1000).says("PA 4001 len 1000 ack 1").after(10).hears("A 1 ack 5001");
        assertTrue(d.c.congestionWindowBytes() < 10_000, "window " + d.c.congestionWindowBytes());
        int reduced = d.c.congestionWindowBytes();
        d.send(1000).says("PA 5001 len 1000 ack 1").after(10).hears("A 1 ack 6001");
        assertTrue(d.c.congestionWindowBytes() >= reduced);
    }

    @Test
    void unnecessaryProbeDoesNotReduceWindow() {
        Dialogue together = probed().hears("A 1 ack 4001 sack 3001-4001");
        together.send(1000).says("PA 4001 len 1000 ack 1").after(10).hears("A 1 ack 5001");
        assertTrue(together.c.congestionWindowBytes() >= 10_000);

        Dialogue later = probed().hears("A 1 ack 4001").hears("A 1 ack 4001 sack 3001-4001");
        later.send(1000).says("PA 4001 len 1000 ack 1").after(10).hears("A 1 ack 5001");
        assertTrue(later.c.congestionWindowBytes() >= 10_000);
    }

    @Test
    void newDataServesAsProbe() {
        Dialogue d = established(plain().noDelay(false));
        d.send(990).says("PA 1 len 990 ack 1").send(1000).says("PA 991 len 1000 ack 1");
        d.send(10).saysNothing();
        // Data held back by Nagle does not serve as a probe.
        d.waits(1000);
        d.says("PA 991 len 1000 ack 1").hears("A 1 ack 1991 sack 991-1991").says("PA 1991 len 10 ack 1");
        d.c.noDelay(true);
        d.hears("A 1 ack 2001").c.cwnd = 2000;
        d.send(3000).says("A 2001 len 1000 ack 1", "A 3001 len 1000 ack 1");
        d.waits(1000);
        d.says("PA 4001 len 1000 ack 1");
    }

    private static Dialogue timedOut(TcpConfig.Builder builder, String synAck, int segments) {
        Dialogue d = established(builder, synAck);
        d.send(segments * 1000).c.cwnd = 6000;
        d.says("A 1 len 1000 ack 1", "A 1001 len 1000 ack 1", "A 2001 len 1000 ack 1", "A 3001 len 1000 ack 1",
                "A 4001 len 1000 ack 1", "A 5001 len 1000 ack 1");
        // New data as the tail loss probe, then the timeout.
        d.after(24).says("A 6001 len 1000 ack 1");
        return d.after(212).says("A 1 len 1000 ack 1");
    }

    @Test
    void spuriousTimeoutIsUndone() {
        Dialogue d = timedOut(plain(), "SA 0 ack 1 win 65535 mss 1000 ws 0 sackOK", 20);
        // RFC 5682 section 3.1 step 2b: two new segments are sent, and their ACK decides.
        d.hears("A 1 ack 2001").says("A 7001 len 1000 ack 1", "A 8001 len 1000 ack 1");
        assertEquals(0, d.engine.counters().spuriousRecoveries);
        // Step 3b: an original is acknowledged.
        d.hears("A 1 ack 3001");
        assertEquals(1, d.engine.counters().spuriousRecoveries);
        assertTrue(d.c.congestionWindowBytes() >= 6000, "window " + d.c.congestionWindowBytes());
        assertEquals(CongestionControl.UNBOUNDED, d.c.slowStartThresholdBytes());
    }

    @Test
    void ackOfRetransmissionDoesNotUndoTimeout() {
        // A middlebox strips the SACK blocks. The second and third segment arrived long before without a report.
        Dialogue d = timedOut(plain(), "SA 0 ack 1 win 65535 mss 1000 ws 0 sackOK", 20);
        d.hears("A 1 ack 3001").says("A 7001 len 1000 ack 1", "A 8001 len 1000 ack 1");
        assertEquals(2000, d.c.congestionWindowBytes());
        // Step 3a: a duplicate ACK, so the timeout was justified and the following segment is lost too.
        d.hears("A 1 ack 3001").says("A 3001 len 1000 ack 1");
        assertEquals(0, d.engine.counters().spuriousRecoveries);
    }

    @Test
    void sackBlocksBeforeAckOfRetransmissionDoNotUndoTimeout() {
        Dialogue d = timedOut(plain(), "SA 0 ack 1 win 65535 mss 1000 ws 0 sackOK", 20);
        // RFC 5682 section 3.1 step 2: the scoreboard records the blocks, but the timeout is not undone.
        d.hears("A 1 ack 1 sack 1001-2001");
        assertEquals(0, d.engine.counters().spuriousRecoveries);
        d.hears("A 1 ack 2001").hears("A 1 ack 3001");
        assertEquals(1, d.engine.counters().spuriousRecoveries);
    }

    /** Data held back by Nagle is not sendable, and must not delay retransmissions. */
    @Test
    void frtoDoesNotWaitForDataHeldByNagle() {
        Dialogue d = established(plain().noDelay(false), NO_SACK);
        d.send(2900).says("A 1 len 1000 ack 1", "A 1001 len 1000 ack 1", "PA 2001 len 900 ack 1");
        d.send(100).after(212).says("A 1 len 1000 ack 1");
        d.hears("A 1 ack 1001").says("A 1001 len 1000 ack 1", "PA 2001 len 900 ack 1");
    }

    @Test
    void frtoSendsNewDataBeforeRetransmissions() {
        Dialogue d = established(plain(), NO_SACK);
        d.send(14_000);
        d.after(0);
        d.says("A 1 len 1000 ack 1", "A 1001 len 1000 ack 1", "A 2001 len 1000 ack 1", "A 3001 len 1000 ack 1",
                "A 4001 len 1000 ack 1", "A 5001 len 1000 ack 1", "A 6001 len 1000 ack 1", "A 7001 len 1000 ack 1",
                "A 8001 len 1000 ack 1", "A 9001 len 1000 ack 1");
        d.after(212).says("A 1 len 1000 ack 1");
        // Step 2b: only the retransmission is acknowledged; two new segments decide.
        d.hears("A 1 ack 1001").says("A 10001 len 1000 ack 1", "A 11001 len 1000 ack 1");
        // Step 3a: a duplicate ACK, so the loss was real and the rest is retransmitted.
        d.hears("A 1 ack 1001").says("A 1001 len 1000 ack 1");

        Dialogue spurious = established(plain(), NO_SACK);
        spurious.send(14_000);
        spurious.after(212);
        spurious.hears("A 1 ack 1001");
        spurious.after(1);
        // Step 3b: an ACK of data that was sent once
        spurious.hears("A 1 ack 2001");
        assertEquals(1, spurious.engine.counters().spuriousRecoveries);
    }

    @Test
    void timestampRevealsSpuriousRetransmission() {
        // RFC 3522: the ACK echoes a timestamp before the retransmission.
        Dialogue d = established(TcpConfig.builder().sack(false), "SA 0 ack 1 mss 1012 ts 1000/0");
        int before = d.c.timestamp(d.now);
        d.send(4000);
        d.after(5);
        d.hears("A 1 ack 1 ts 1000/" + before).hears("A 1 ack 1 ts 1000/" + before)
                .hears("A 1 ack 1 ts 1000/" + before);
        d.after(3);
        assertEquals(1, d.engine.counters().fastRecoveries);
        assertEquals(1, d.engine.counters().retransmittedSegments);
        d.hears("A 1 ack 2001 ts 1001/" + before);
        assertEquals(1, d.engine.counters().spuriousRecoveries);
        // RFC 4015 section 3.2: to avoid a burst, the window is the data in flight plus the acknowledged data.
        assertEquals(2000 + 2000, d.c.congestionWindowBytes());
        assertEquals(CongestionControl.UNBOUNDED, d.c.slowStartThresholdBytes());
    }

    @Test
    void dsackRevealsSpuriousRetransmission() {
        Dialogue d = established(plain());
        d.send(1000).says("PA 1 len 1000 ack 1").after(1);
        d.send(5000).after(9);
        d.says("A 1001 len 1000 ack 1", "A 2001 len 1000 ack 1", "A 3001 len 1000 ack 1", "A 4001 len 1000 ack 1",
                "PA 5001 len 1000 ack 1");
        d.hears("A 1 ack 1 sack 1001-4001").says("PA 1 len 1000 ack 1");
        d.hears("A 1 ack 4001").saysNothing();
        int reduced = d.c.slowStartThresholdBytes();
        d.hears("A 1 ack 4001 sack 1-1001").saysNothing();
        assertEquals(1, d.engine.counters().spuriousRecoveries);
        assertTrue(d.c.slowStartThresholdBytes() > reduced);
        // RFC 8985 section 6.2: reordering was detected, so the reordering window is wider.
        assertEquals(2, d.c.rackWindowMultiplier);
    }

    /**
     * Six segments; the first ones are delayed, and retransmitted since the others have arrived. Another segment is
     * still in flight when the originals end the recovery.
     */
    private static Dialogue retransmitted(int segments) {
        Dialogue d = sent(established(plain()), 6);
        String[] retransmissions = new String[segments];
        for (int i = 0; i < segments; i++) {
            retransmissions[i] = "A " + (1 + i * 1000) + " len 1000 ack 1";
        }
        return d.after(10).hears("A 1 ack 1 sack " + (1 + segments * 1000) + "-6001").says(retransmissions)
                .send(1000).says("PA 6001 len 1000 ack 1");
    }

    /** The originals end the recovery. The D-SACK for the retransmission arrives later (RFC 3708 section 3). */
    @Test
    void dsackAfterTheEndOfRecoveryUndoesIt() {
        Dialogue d = retransmitted(1);
        int reduced = d.c.slowStartThresholdBytes();
        d.hears("A 1 ack 6001");
        assertEquals(reduced, d.c.slowStartThresholdBytes());
        d.after(10).hears("A 1 ack 6001 sack 1-1001").saysNothing();
        assertEquals(1, d.engine.counters().spuriousRecoveries);
        assertTrue(d.c.slowStartThresholdBytes() >= 10_000, "threshold " + d.c.slowStartThresholdBytes());
    }

    @Test
    void oneOfTwoDsacksDoesNotUndoRecovery() {
        Dialogue d = retransmitted(2);
        d.hears("A 1 ack 6001");
        d.after(10).hears("A 1 ack 6001 sack 1-1001").saysNothing();
        assertEquals(0, d.engine.counters().spuriousRecoveries);
        d.hears("A 1 ack 6001 sack 1001-2001").saysNothing();
        assertEquals(1, d.engine.counters().spuriousRecoveries);
    }

    /** A peer may report adjacent duplicates as one block (Linux: tcp_dsack_extend). */
    @Test
    void oneDsackMayReportTwoRetransmissions() {
        Dialogue d = retransmitted(2);
        d.hears("A 1 ack 6001");
        d.after(10).hears("A 1 ack 6001 sack 1-2001").saysNothing();
        assertEquals(1, d.engine.counters().spuriousRecoveries);
    }

    /** In a recovery, data beyond its recovery point may be retransmitted as well. */
    @Test
    void dsacksForDataBeyondTheRecoveryPointCount() {
        Dialogue d = retransmitted(2);
        d.send(1000).says("PA 7001 len 1000 ack 1");
        d.after(10).hears("A 1 ack 1001 sack 7001-8001,2001-6001");
        d.says("A 1001 len 1000 ack 1", "PA 6001 len 1000 ack 1");
        for (String range : new String[] {"1-1001", "1001-2001", "1001-2001"}) {
            d.hears("A 1 ack 7001 sack " + range + ",7001-8001");
        }
        assertEquals(0, d.engine.counters().spuriousRecoveries);
        d.hears("A 1 ack 7001 sack 6001-7001,7001-8001");
        assertEquals(1, d.engine.counters().spuriousRecoveries);
    }

    /** A loss that a probe repairs reduces the window again. This reduction must remain. */
    @Test
    void reductionAfterRecoveryIsNotUndone() {
        Dialogue d = retransmitted(1);
        d.hears("A 1 ack 6001");
        d.waits(300);
        d.says("PA 6001 len 1000 ack 1").send(2000).says("A 7001 len 1000 ack 1", "PA 8001 len 1000 ack 1");
        d.hears("A 1 ack 8001");
        int reduced = d.c.slowStartThresholdBytes();
        d.hears("A 1 ack 8001 sack 1-1001").hears("A 1 ack 8001 sack 6001-7001");
        assertEquals(0, d.engine.counters().spuriousRecoveries);
        assertEquals(reduced, d.c.slowStartThresholdBytes());
    }

    /** Hundreds of steps of a quarter of the minimum RTT would take hundreds of round trips. */
    @Test
    void reorderingWindowDoublesInEachRoundTripWithDsack() {
        Dialogue d = retransmitted(1);
        d.hears("A 1 ack 7001");
        for (int round = 1; round <= 10; round++) {
            int seq = 6001 + round * 1000;
            d.send(1000).says("PA " + seq + " len 1000 ack 1");
            d.hears("A 1 ack " + seq + " sack 1-1001").hears("A 1 ack " + seq + " sack 1-1001");
            assertEquals(1 << round, (int) d.c.rackWindowMultiplier);
            d.after(10).hears("A 1 ack " + (seq + 1000));
        }
    }

    @Test
    void reorderingWindowIsBoundedBySmoothedRttAndItsVariance() {
        Dialogue d = retransmitted(1);
        d.c.set(Tcb.REORDERING_SEEN);
        d.c.minRttNanos = 100_000;
        d.c.srttNanos = 4_000_000;
        d.c.rttvarNanos = 2_000_000;
        assertEquals(25_000, Rack.reorderingWindowNanos(d.c, d.c.sendState));
        d.c.rackWindowMultiplier = 100;
        assertEquals(2_500_000, Rack.reorderingWindowNanos(d.c, d.c.sendState));
        d.c.rackWindowMultiplier = Character.MAX_VALUE;
        assertEquals(12_000_000, Rack.reorderingWindowNanos(d.c, d.c.sendState));
        d.c.rttvarNanos = 0;
        assertEquals(4_000_000, Rack.reorderingWindowNanos(d.c, d.c.sendState));
    }

    @Test
    void renegedSacksAreClearedOnTimeout() {
        Dialogue d = sent(established(plain()), 3);
        d.after(10).hears("A 1 ack 1 sack 1001-3001");
        d.after(4).says("A 1 len 1000 ack 1");
        // The peer has received the first segment, but has dropped the others.
        d.after(10).hears("A 1 ack 1001").saysNothing();
        d.after(250).says("A 1001 len 1000 ack 1");
        assertEquals(1, d.engine.counters().sackReneges);
        d.after(10).hears("A 1 ack 2001").says("PA 2001 len 1000 ack 1");
        d.hears("A 1 ack 3001").saysNothing();
        d.assertReleased();
    }

    @Test
    void invalidSackBlocksAreIgnored() {
        Dialogue d = sent(established(plain()), 3);
        d.hears("A 1 ack 1 sack 5001-6001").hears("A 1 ack 1 sack 2001-1001").hears("A 1 ack 1 sack 1-900000");
        d.saysNothing();
        assertEquals(3000, d.c.inFlightBytes());
        d.hears("A 1 ack 1 sack 1500-2500");
        assertEquals(3000, d.c.inFlightBytes());
        d.hears("A 1 ack 3001");
    }

    @Test
    void partiallyAcknowledgedSegmentIsTrimmed() {
        Dialogue d = sent(established(plain(), NO_SACK), 2);
        d.hears("A 1 ack 501");
        assertEquals(1500, d.c.inFlightBytes());
        d.after(230).says("A 501 len 500 ack 1");
    }

    @Test
    void shrunkWindowAllowsFirstSegmentOnly() {
        Dialogue d = sent(established(plain(), NO_SACK), 4);
        d.after(10).hears("A 1 ack 1001 win 100").saysNothing();
        d.after(212).says("A 1001 len 1000 ack 1");
        // With a closed window, the first segment serves as the probe.
        d.hears("A 1 ack 2001 win 0").says("A 2001 len 1000 ack 1");
        d.after(470).says("A 2001 len 1000 ack 1");
        d.hears("A 1 ack 2001 win 5000").saysNothing();
        d.hears("A 1 ack 4001 win 5000").saysNothing();
        d.assertReleased();
    }

    @Test
    void buffersAreReleasedWhenAcknowledgedAndTransmitted() {
        Dialogue d = established(plain());
        io.netty.buffer.ByteBuf buffer = io.netty.buffer.Unpooled.wrappedBuffer(new byte[10]);
        d.c.send(buffer);
        Segment first = new Segment();
        d.engine.pollSegment(d.now, first);
        first.retainPayload();
        assertEquals(false, d.engine.pollSegment(d.now, new Segment()));
        d.now += 250_000_000;
        d.engine.advance(d.now);
        Segment second = new Segment();
        assertTrue(d.engine.pollSegment(d.now, second));
        assertEquals(2, buffer.refCnt());
        second.retainPayload();
        second.retainPayload();
        assertEquals(3, buffer.refCnt());
        d.hears("A 1 ack 11");
        assertEquals(2, buffer.refCnt());
        first.releasePayload();
        second.releasePayload();
        assertEquals(0, buffer.refCnt());
    }

    // ---- ECN ----

    @Test
    void listenerAcceptsEcn() {
        Dialogue d = new Dialogue(plain()).listen(8);
        d.hears("SEC 0 mss 1000").says("SAE 0 ack 1").hears("A 1 ack 1");
        d.c.quickAcks = 0;
        d.send(10).says("PA 1 len 10 ack 1 ect");
        d.hears("A 1 len 10 ack 11 ce").says("AE 11 ack 11");
        d.hears("A 11 len 10 ack 11 ect").after(50).says("AE 11 ack 21");
        d.hears("AC 21 len 10 ack 11 ect").after(50).says("A 11 ack 31");
        d.state(ESTABLISHED);
    }

    @Test
    void echoedMarkReducesWindowOncePerRoundTrip() {
        Dialogue d = established(plain().ecn(TcpConfig.EcnMode.ACTIVE), "SAE 0 ack 1 mss 1000");
        d.send(6000);
        d.says("A 1 len 1000 ack 1 ect", "A 1001 len 1000 ack 1 ect", "A 2001 len 1000 ack 1 ect",
                "A 3001 len 1000 ack 1 ect", "A 4001 len 1000 ack 1 ect", "PA 5001 len 1000 ack 1 ect");
        d.after(10).hears("AE 1 ack 1001").hears("AE 1 ack 2001");
        assertEquals(7000, d.c.congestionWindowBytes());
        assertEquals(1, d.engine.counters().ecnReductions);
        d.send(10).says("PAC 6001 len 10 ack 1 ect");
        d.send(10).says("PA 6011 len 10 ack 1 ect");
    }

    // ---- retransmitted segments ----

    @Test
    void adjacentSmallSegmentsAreRetransmittedTogether() {
        Dialogue d = established(plain().noDelay(true));
        for (int i = 0; i < 8; i++) {
            d.send(300).says("PA " + (1 + 300 * i) + " len 300 ack 1");
        }
        d.after(10).hears("A 1 ack 1 sack 1501-2401");
        d.says("PA 1 len 900 ack 1");
        d.after(10).hears("A 1 ack 901 sack 1501-2401").says("PA 901 len 600 ack 1");
        assertEquals(2, d.engine.counters().retransmittedSegments);
        d.after(10).hears("A 1 ack 2401");
        assertEquals(0, d.c.inFlightBytes());
        d.assertReleased();
    }

    @Test
    void smallSegmentsAreRetransmittedOneByOneAfterTimeouts() {
        // The path drops packets as large as the peer's MSS without an ICMP message.
        Dialogue d = established(plain(), NO_SACK);
        d.send(300).says("PA 1 len 300 ack 1").send(300).says("PA 301 len 300 ack 1");
        d.after(212).says("PA 1 len 600 ack 1");
        d.after(422).says("PA 1 len 300 ack 1", "PA 301 len 300 ack 1");
    }
}
