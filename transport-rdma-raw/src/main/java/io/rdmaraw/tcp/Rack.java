package io.rdmaraw.tcp;

import io.rdmaraw.tcp.segment.Segment;
import io.rdmaraw.tcp.segment.Sequence;
import io.rdmaraw.tcp.send.RecoveryState.Phase;
import io.rdmaraw.tcp.send.Scoreboard;
import io.rdmaraw.tcp.send.SendState;

/**
 * RACK (RFC 8985 section 6): a segment is lost if one sent later was delivered and the reordering window has
 * passed.
 */
final class Rack {
    private static final int DUPLICATE_THRESHOLD = 3;
    private static final int PERSIST_RECOVERIES = 16;

    private Rack() {
    }

    /**
     * Performs steps 2 and 3 of section 6.2 for a newly acknowledged or SACKed entry. Entries must be passed in
     * ascending order.
     */
    static void onDelivered(TcpConnection c, int end, long sent, boolean retransmitted, Segment ack, long now) {
        // Step 3: an entry arrives after a newer one although it was sent only once.
        if (Sequence.after(end, c.rackForwardAck)) {
            c.rackForwardAck = end;
        } else if (!retransmitted && Sequence.before(end, c.rackForwardAck)) {
            c.set(Tcb.REORDERING_SEEN);
            c.requireExtras().reorderings++;
        }
        // Step 2: the ACK may be for the original transmission, not for the retransmission.
        long rtt = now - sent;
        if (retransmitted) {
            if (c.is(Tcb.TIMESTAMPS) && ack.timestamps && Sequence.before(ack.tsEcho, c.timestamp(sent))) {
                return;
            }
            if (rtt < c.minRttNanos) {
                return;
            }
        }
        c.rackRttNanos = rtt;
        if (sentAfter(sent, end, c.rackSentNanos, c.rackEndSeq)) {
            c.rackSentNanos = sent;
            c.rackEndSeq = end;
        }
    }

    private static boolean sentAfter(long sent1, int end1, long sent2, int end2) {
        return sent1 > sent2 || sent1 == sent2 && Sequence.after(end1, end2);
    }

    /**
     * Step 4: returns the reordering window. The RFC recommends SRTT as its bound. If some segments overtake others,
     * SRTT lies between the RTTs of the two, and the difference between them can be larger than SRTT. The bound is
     * therefore that of RFC 6298 for an RTT, SRTT + 4 * RTTVAR. On a steady path it is close to SRTT.
     */
    static long reorderingWindowNanos(TcpConnection c, SendState f) {
        if (!c.is(Tcb.REORDERING_SEEN)
                && (f.recovery.phase != Phase.OPEN || f.scoreboard.sackedCount() >= DUPLICATE_THRESHOLD)) {
            return 0;
        }
        if (c.minRttNanos == Tcb.NEVER) {
            return 0;
        }
        long maxNanos = c.srttNanos + 4 * c.rttvarNanos;
        return Math.min(c.rackWindowMultiplier * (c.minRttNanos / 4), maxNanos);
    }

    /**
     * Step 4: widens the reordering window after a D-SACK, at most once per round trip. The RFC adds min_RTT / 4 each
     * time and notes that adapting may take a while (section 3.3.2). If a few segments overtake the others, the
     * minimum RTT is that of these few, and hundreds of round trips with spurious retransmissions would pass until
     * the window is wide enough. It is therefore doubled.
     */
    static void onDsack(TcpConnection c) {
        ConnectionExtras extras = c.requireExtras();
        if (c.is(Tcb.DSACK_ROUND) && Sequence.afterOrAt(c.sndUna, extras.rackDsackRound)) {
            c.clear(Tcb.DSACK_ROUND);
        }
        if (!c.is(Tcb.DSACK_ROUND)) {
            c.set(Tcb.DSACK_ROUND);
            extras.rackDsackRound = c.sndNxt;
            c.rackWindowMultiplier = (char) Math.min(Character.MAX_VALUE, 2 * c.rackWindowMultiplier);
            extras.rackWindowPersist = PERSIST_RECOVERIES;
        }
    }

    /** Step 4: resets the reordering window after 16 recoveries without a D-SACK. */
    static void onRecoveryEnd(TcpConnection c) {
        ConnectionExtras extras = c.extras;
        if (extras != null && extras.rackWindowPersist > 0 && --extras.rackWindowPersist == 0) {
            c.rackWindowMultiplier = 1;
        }
    }

    /**
     * Step 5: marks lost entries.
     *
     * @return nanoseconds until the reordering timer must expire; 0 if it is not needed
     */
    static long detectLoss(TcpConnection c, SendState f, long now) {
        Scoreboard sb = f.scoreboard;
        long window = reorderingWindowNanos(c, f);
        int entry = sb.oldestInFlight();
        while (entry != Scoreboard.NONE) {
            sb.visitedEntries++;
            int next = sb.nextSent(entry);
            if (!sentAfter(c.rackSentNanos, c.rackEndSeq, sb.sentNanos(entry), sb.endSeq(entry))) {
                break;
            }
            if (sb.sentNanos(entry) + c.rackRttNanos + window - now > 0) {
                // Entries sent later have more time left, so no other entry is lost. The RFC uses the longest
                // remaining time of the entries sent before the delivered one. Finding it would take a walk over
                // the whole flight per ACK. This is an upper bound of it.
                return c.rackSentNanos + c.rackRttNanos + window - now;
            }
            Recovery.markLost(c, sb, entry);
            entry = next;
        }
        return 0;
    }

    /**
     * Section 6.3: after an RTO, marks the first segment as lost, and every other segment that is overdue.
     */
    static void markOnTimeout(TcpConnection c, SendState f, long now) {
        Scoreboard sb = f.scoreboard;
        long window = reorderingWindowNanos(c, f);
        int entry = sb.oldestInFlight();
        while (entry != Scoreboard.NONE) {
            int next = sb.nextSent(entry);
            if (entry == sb.head() || sb.sentNanos(entry) + c.rackRttNanos + window - now <= 0) {
                Recovery.markLost(c, sb, entry);
            }
            entry = next;
        }
    }
}
