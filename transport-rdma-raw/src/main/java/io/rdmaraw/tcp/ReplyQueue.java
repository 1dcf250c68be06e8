package io.rdmaraw.tcp;

import io.rdmaraw.tcp.segment.Segment;
import io.rdmaraw.tcp.segment.TcpFlags;

/**
 * Segments that belong to no control block: RSTs, acknowledgements from TIME-WAIT, SYN cookies. A bounded ring; what
 * does not fit is dropped and counted. Answers to unknown senders have little room, because a sender asks again. The
 * last words of connections are said once, and have room for as many as may end before the device takes more.
 */
final class ReplyQueue {
    private static final int CAPACITY = 256;
    private static final int MAX_LAST_WORDS = 1 << 16;

    private Segment[] ring = new Segment[CAPACITY];
    private final TcpCounters counters;
    private int head;
    private int count;

    ReplyQueue(TcpCounters counters) {
        this.counters = counters;
    }

    boolean isEmpty() {
        return count == 0;
    }

    /** A cleared segment to fill in, at the end of the queue; null if there is no room. */
    Segment add() {
        return add(CAPACITY);
    }

    private Segment add(int limit) {
        if (count >= limit) {
            counters.replyDrops++;
            return null;
        }
        if (count == ring.length) {
            grow();
        }
        int slot = head + count++ & ring.length - 1;
        if (ring[slot] == null) {
            ring[slot] = new Segment();
        }
        return ring[slot].clear();
    }

    private void grow() {
        Segment[] old = ring;
        ring = new Segment[2 * old.length];
        for (int i = 0; i < count; i++) {
            ring[i] = old[head + i & old.length - 1];
        }
        head = 0;
    }

    boolean poll(Segment out) {
        if (count == 0) {
            return false;
        }
        out.copyHeader(ring[head]);
        ring[head].attachment = null;
        head = head + 1 & ring.length - 1;
        count--;
        if (count == 0 && ring.length > CAPACITY) {
            // A flood of endings is over; its segments are not kept.
            ring = new Segment[CAPACITY];
            head = 0;
        }
        return true;
    }

    /**
     * RFC 9293 section 3.10.7.1: the RST that answers a segment for which there is no connection.
     *
     * @param mark SO_MARK of what it came to, 0 for none
     */
    void resetFor(Segment s, int mark) {
        if (s.has(TcpFlags.RST)) {
            return;
        }
        Segment out = add();
        if (out == null) {
            return;
        }
        counters.resetsOut++;
        answer(s, out, mark);
        if (s.has(TcpFlags.ACK)) {
            out.seq = s.ack;
            out.flags = TcpFlags.RST;
        } else {
            out.ack = s.seq + s.sequenceLength();
            out.flags = TcpFlags.RST | TcpFlags.ACK;
        }
    }

    /** Turns the addresses of {@code s} round. */
    static void answer(Segment s, Segment out, int mark) {
        out.mark = mark;
        out.source(s.destinationHigh, s.destinationLow, s.destinationPort);
        out.destination(s.sourceHigh, s.sourceLow, s.sourcePort);
    }

    /** RFC 9293 section 3.10.5 (ABORT): RST for a connection that is about to be forgotten. */
    void reset(TcpConnection c) {
        Segment out = add(MAX_LAST_WORDS);
        if (out == null) {
            return;
        }
        counters.resetsOut++;
        SegmentOutput.address(c, out);
        out.connection = null;
        out.attachment = c.attachment();
        out.seq = c.sndNxt;
        out.ack = c.rcvNxt;
        out.flags = TcpFlags.RST | TcpFlags.ACK;
        if (c.is(Tcb.TIMESTAMPS)) {
            // RFC 7323 section 3.2: it should have them too.
            out.timestamps(c.timestamp(c.engine.now()), c.tsRecent);
        }
    }

    /** The acknowledgement of the peer's FIN, from a connection that moves to TIME-WAIT. */
    void finalAck(TcpConnection c, long now) {
        acknowledge(c, MAX_LAST_WORDS, now);
    }

    /** What a connection acknowledges now, before it changes. Where there is no room the next acknowledgement does. */
    void acknowledge(TcpConnection c, long now) {
        acknowledge(c, CAPACITY, now);
    }

    private void acknowledge(TcpConnection c, int limit, long now) {
        Segment out = add(limit);
        if (out != null) {
            SegmentOutput.begin(c, out, c.sndNxt, TcpFlags.ACK, now);
            out.connection = null;
            out.attachment = c.attachment();
        }
    }
}
