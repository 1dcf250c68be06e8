package io.rdmaraw.tcp;

import io.rdmaraw.tcp.segment.Segment;
import io.rdmaraw.tcp.segment.TcpFlags;

/**
 * A bounded ring of segments that are not built from the state of a live connection: RSTs, ACKs from TIME-WAIT, SYN
 * cookies, and ACKs that must describe the state before a change. A segment that does not fit is dropped and counted.
 * Replies to unknown senders have a small limit, because the sender retransmits. The final segments of connections
 * are sent only once; their limit covers all connections that may end before the device accepts more frames.
 */
final class ReplyQueue {
    private static final int CAPACITY = 256;
    private static final int MAX_FINAL_SEGMENTS = 1 << 16;

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

    /** Appends a cleared segment and returns it to be filled in. Returns null if the queue is full. */
    Segment add() {
        return add(CAPACITY);
    }

    private Segment add(int limit) {
        if (count >= limit) {
            counters.droppedReplies++;
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
        ring[head].connectionAttachment = null;
        head = head + 1 & ring.length - 1;
        count--;
        if (count == 0 && ring.length > CAPACITY) {
            // Many connections ended at once. Release the enlarged ring.
            ring = new Segment[CAPACITY];
            head = 0;
        }
        return true;
    }

    /**
     * Adds the RST that answers a segment without a connection (RFC 9293 section 3.10.7.1).
     *
     * @param soMark SO_MARK of the listener or connection that the segment was addressed to; 0 for none
     */
    void addReset(Segment s, int soMark) {
        if (s.has(TcpFlags.RST)) {
            return;
        }
        Segment out = add();
        if (out == null) {
            return;
        }
        counters.resetsOut++;
        addressReply(s, out, soMark);
        if (s.has(TcpFlags.ACK)) {
            out.seq = s.ack;
            out.flags = TcpFlags.RST;
        } else {
            out.ack = s.seq + s.sequenceLength();
            out.flags = TcpFlags.RST | TcpFlags.ACK;
        }
    }

    /** Addresses {@code out} to the sender of {@code s}. */
    static void addressReply(Segment s, Segment out, int soMark) {
        out.soMark = soMark;
        out.peerMac = s.peerMac;
        out.source(s.destinationHigh, s.destinationLow, s.destinationPort);
        out.destination(s.sourceHigh, s.sourceLow, s.sourcePort);
    }

    /** Adds the RST of a connection that is about to be removed (RFC 9293 section 3.10.5, ABORT). */
    void addFinalReset(TcpConnection c) {
        Segment out = add(MAX_FINAL_SEGMENTS);
        if (out == null) {
            return;
        }
        counters.resetsOut++;
        SegmentOutput.address(c, out);
        out.connection = null;
        out.connectionAttachment = c.attachment();
        out.seq = c.sndNxt;
        out.ack = c.rcvNxt;
        out.flags = TcpFlags.RST | TcpFlags.ACK;
        if (c.is(Tcb.TIMESTAMPS)) {
            // RFC 7323 section 3.2: a RST should carry timestamps too.
            out.timestamps(c.timestamp(c.engine.now()), c.tsRecent);
        }
    }

    /** Adds the ACK of the peer's FIN for a connection that moves to TIME-WAIT. */
    void addFinalAck(TcpConnection c, long now) {
        addAck(c, MAX_FINAL_SEGMENTS, now);
    }

    /**
     * Adds an ACK with the present state of a connection, before that state changes. If the queue is full, it is
     * omitted; the next ACK covers the same data.
     */
    void addAck(TcpConnection c, long now) {
        addAck(c, CAPACITY, now);
    }

    private void addAck(TcpConnection c, int limit, long now) {
        Segment out = add(limit);
        if (out != null) {
            SegmentOutput.begin(c, out, c.sndNxt, TcpFlags.ACK, now);
            out.connection = null;
            out.connectionAttachment = c.attachment();
        }
    }
}
