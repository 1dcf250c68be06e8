package io.rdmaraw.tcp;

import static io.rdmaraw.tcp.TcpState.*;

import io.netty.buffer.ByteBuf;
import io.rdmaraw.tcp.segment.Segment;
import io.rdmaraw.tcp.segment.Sequence;
import io.rdmaraw.tcp.segment.TcpFlags;

/**
 * Processes the text and the FIN of an acceptable segment (RFC 9293 section 3.10.7.4, seventh and eighth check).
 */
final class DataInput {
    private DataInput() {
    }

    static void process(TcpConnection c, Segment s, long now) {
        if (!c.state.mayReceive()) {
            // After the peer's FIN, text is ignored. A repeated FIN is acknowledged.
            AckPolicy.ackImmediately(c);
            return;
        }
        int start = s.seq;
        int end = start + s.payloadLength;
        boolean fin = s.has(TcpFlags.FIN);
        if (Sequence.after(end, c.rcvAdv)) {
            // The part beyond the window is dropped, including the FIN.
            end = c.rcvAdv;
            fin = false;
        }
        if (c.is(Tcb.FIN_RECEIVED)) {
            // The position of the first FIN is final. Data beyond it is ignored.
            end = Sequence.after(end, c.finSeq) ? Sequence.max(start, c.finSeq) : end;
            fin &= end == c.finSeq;
        }
        if ((c.is(Tcb.CLOSE_CALLED) || c.isShutDown()) && Sequence.after(end, c.rcvNxt)) {
            // RFC 9293 section 3.6.1 and Linux: no user will read this data, so the peer gets a reset.
            c.engine.queueReset(c);
            c.engine.finish(c, c.is(Tcb.CLOSE_CALLED) ? CloseReason.DATA_AFTER_CLOSE : CloseReason.RESET_BY_PEER,
                    CLOSED);
            return;
        }
        if (s.payloadLength > 0) {
            c.dataRefused = !c.engine.receiveMemory.mayAccept(c);
            if (c.dataRefused) {
                c.engine.counters.receiveMemoryDrops += s.segmentCount();
                AckPolicy.ackImmediately(c);
                return;
            }
        }
        if (s.dscp != 0 || c.extras != null) {
            c.requireExtras().receivedDscp = (byte) s.dscp;
        }
        if (fin) {
            c.finSeq = end;
            c.set(Tcb.FIN_RECEIVED);
        }
        if (Sequence.beforeOrAt(start, c.rcvNxt)) {
            processInOrder(c, s, end, now);
        } else {
            processOutOfOrder(c, s, end, fin);
        }
        if (c.is(Tcb.FIN_RECEIVED) && c.rcvNxt == c.finSeq && c.state.mayReceive()) {
            onFin(c, now);
        }
    }

    private static void processInOrder(TcpConnection c, Segment s, int end, long now) {
        int start = s.seq;
        if (Sequence.before(start, c.rcvNxt) && s.payloadLength > 0) {
            reportDuplicate(c, start, Sequence.min(c.rcvNxt, end));
        }
        int at = start;
        int before = c.rcvNxt;
        for (int i = 0; i < s.sliceCount && c.state.mayReceive(); i++) {
            int sliceEnd = Sequence.min(at + s.lengths[i], end);
            int skip = Math.max(0, c.rcvNxt - at);
            int length = sliceEnd - at - skip;
            if (length > 0) {
                deliver(c, s, i, s.indices[i] + skip, length);
            }
            at += s.lengths[i];
        }
        boolean filledHole = c.reassembly != null;
        if (filledHole) {
            deliverReassembled(c, !Sequence.before(start, before));
        }
        if (c.rcvNxt != before) {
            boolean merged = s.segmentSizeBytes > 0;
            AckPolicy.onData(c, merged ? s.segmentSizeBytes : s.payloadLength, !merged && s.has(TcpFlags.PSH), now);
            if (merged && s.has(TcpFlags.PSH)) {
                AckPolicy.onPushAfterMerge(c);
            }
            ReceiveTuning.onData(c, s, now);
            if (filledHole) {
                // RFC 5681 section 4.2: acknowledge at once when a gap is filled
                AckPolicy.ackImmediately(c);
            }
        }
    }

    /**
     * Records the byte that is left out of the stream. It is the last byte of the urgent data, as for a Linux
     * socket without SO_OOBINLINE. The urgent pointer refers to the byte after it (RFC 6093 section 2.1).
     */
    static void onUrgentPointer(TcpConnection c, Segment s) {
        int urgent = s.seq + Math.max(0, s.urgentPointer - 1);
        boolean isNewer = c.extras == null || !c.extras.urgentAhead || Sequence.after(urgent, c.extras.urgentSeq);
        if (Sequence.afterOrAt(urgent, c.rcvNxt) && isNewer) {
            c.requireExtras().urgentSeq = urgent;
            c.extras.urgentAhead = true;
        }
    }

    private static boolean holdsUrgentByte(TcpConnection c, int length) {
        return c.extras != null && c.extras.urgentAhead && c.extras.urgentSeq - c.rcvNxt < length;
    }

    /** Delivers bytes of the segment that is being processed. */
    private static void deliver(TcpConnection c, Segment s, int slice, int index, int length) {
        if (holdsUrgentByte(c, length)) {
            deliverAroundUrgentByte(c, s.buffers[slice], index, length);
            return;
        }
        countDelivered(c, length);
        try {
            c.engine.events.data(c, s, slice, index, length);
        } catch (Throwable e) {
            onUndelivered(c);
            throw e;
        }
    }

    private static void deliver(TcpConnection c, ByteBuf buffer, int index, int length) {
        if (holdsUrgentByte(c, length)) {
            deliverAroundUrgentByte(c, buffer, index, length);
            return;
        }
        countDelivered(c, length);
        try {
            c.engine.events.data(c, buffer, index, length);
        } catch (Throwable e) {
            onUndelivered(c);
            throw e;
        }
    }

    /**
     * Delivers the data before and after the urgent byte. Both parts share the buffer, so each holds its own
     * reference.
     */
    private static void deliverAroundUrgentByte(TcpConnection c, ByteBuf buffer, int index, int length) {
        int before = c.extras.urgentSeq - c.rcvNxt;
        c.extras.urgentAhead = false;
        if (before > 0) {
            deliver(c, buffer, index, before);
        }
        if (c.state.mayReceive()) {
            c.rcvNxt++;
            if (length - before > 1) {
                deliver(c, buffer, index + before + 1, length - before - 1);
            }
        }
    }

    private static void countDelivered(TcpConnection c, int length) {
        c.rcvNxt += length;
        c.engine.receiveMemory.addUnread(c, length);
        c.bytesIn += length;
        c.engine.counters.payloadBytesIn += length;
    }

    /**
     * Aborts the connection after the user failed to accept data. The bytes count as received, so the stream
     * would have a hole.
     */
    private static void onUndelivered(TcpConnection c) {
        c.engine.abort(c, CloseReason.ABORTED);
    }

    /**
     * Delivers data held out of order that now is in order.
     *
     * @param report whether duplicates between the held data and the segment in order are reported to the sender
     */
    private static void deliverReassembled(TcpConnection c, boolean report) {
        Reassembly reassembly = c.reassembly;
        int edge = c.rcvNxt;
        reassembly.beginSegment();
        while (reassembly.startsAtOrBefore(c.rcvNxt) && c.state.mayReceive()) {
            int length = reassembly.firstEnd() - c.rcvNxt;
            reassembly.addDuplicate(reassembly.firstStart(), Sequence.min(reassembly.firstEnd(), edge));
            ByteBuf buffer = reassembly.firstBuffer();
            int index = length > 0 ? reassembly.firstIndexOf(c.rcvNxt) : 0;
            reassembly.removeFirst();
            try {
                if (length > 0) {
                    deliver(c, buffer, index, length);
                }
            } finally {
                buffer.release();
            }
        }
        if (c.reassembly == null) {
            // The user ended the connection within data().
            return;
        }
        if (report) {
            reportHeldDuplicate(c, reassembly);
        }
        c.engine.receiveMemory.updateCharge(reassembly);
        reassembly.ranges().removeBefore(c.is(Tcb.FIN_RECEIVED) && c.rcvNxt == c.finSeq ? c.rcvNxt + 1 : c.rcvNxt);
        if (reassembly.isEmpty()) {
            c.reassembly = null;
            c.engine.receiveMemory.releaseReassembly(reassembly);
        }
    }

    private static void processOutOfOrder(TcpConnection c, Segment s, int end, boolean fin) {
        int segments = s.segmentCount();
        c.engine.counters.outOfOrderSegments += segments;
        for (int i = 0; i < segments && !c.is(Tcb.SACK); i++) {
            countPendingDuplicateAck(c);
            AckPolicy.ackImmediately(c);
        }
        AckPolicy.ackImmediately(c);
        if (c.reassembly == null) {
            c.reassembly = c.engine.receiveMemory.acquireReassembly(c);
        }
        Reassembly reassembly = c.reassembly;
        int at = s.seq;
        reassembly.beginSegment();
        boolean copy = c.engine.events.isReceiveMemoryLow();
        // Pieces are found by binary search, but the cost of ranges grows with their number.
        boolean full = reassembly.ranges().count() >= c.engine.config.limits.maxOutOfOrderRanges
                && !reassembly.ranges().touches(at, end);
        for (int i = 0; i < s.sliceCount && !full; i++) {
            int sliceEnd = Sequence.min(at + s.lengths[i], end);
            if (Sequence.before(at, sliceEnd)) {
                int need = Reassembly.charge(sliceEnd - at, s.buffers[i], copy);
                int n = c.engine.receiveMemory.makeRoom(reassembly, need)
                        ? reassembly.insert(at, sliceEnd, s.buffers[i], s.indices[i], copy, maxOutOfOrderBytes(c)) : -1;
                full = n < 0;
                if (!full) {
                    c.engine.receiveMemory.updateCharge(reassembly);
                    c.engine.counters.duplicateSegments += n == 0 ? 1 : 0;
                    reassembly.ranges().add(at, sliceEnd);
                }
            }
            at += s.lengths[i];
        }
        c.engine.receiveMemory.updateCharge(reassembly);
        if (full) {
            c.engine.counters.receiveMemoryDrops += segments;
        } else if (fin) {
            reassembly.ranges().add(end, end + 1);
        }
        // RFC 2883 section 4.2: a partial duplicate is reported too; of several, only the first.
        reportHeldDuplicate(c, reassembly);
        if (reassembly.isEmpty()) {
            c.reassembly = null;
            c.engine.receiveMemory.releaseReassembly(reassembly);
        }
    }

    /**
     * Returns the limit for data held out of order. If the receive buffer was enlarged, the limit grows with it
     * and includes the memory charged per piece.
     */
    private static int maxOutOfOrderBytes(TcpConnection c) {
        int configured = c.engine.config.maxOutOfOrderBytes;
        return c.receiveBufferBytes <= c.engine.config.initialReceiveBufferBytes ? configured
                : (int) Math.max(configured, Math.min(1 << 30, c.receiveBufferBytes * 9L / 4));
    }

    /**
     * Counts a duplicate ACK that is owed. Without SACK, each segment out of order is answered by its own ACK
     * (RFC 5681 section 4.2). The first is sent anyway; this counts the others.
     */
    private static void countPendingDuplicateAck(TcpConnection c) {
        if (c.is(Tcb.ACK_NOW) && c.pendingDuplicateAcks < Byte.MAX_VALUE) {
            c.pendingDuplicateAcks++;
        }
    }

    /** Reports the part of the last segment that was already held, if any. */
    private static void reportHeldDuplicate(TcpConnection c, Reassembly reassembly) {
        if (Sequence.before(reassembly.duplicateStart(), reassembly.duplicateEnd())) {
            reportDuplicate(c, reassembly.duplicateStart(), reassembly.duplicateEnd());
        }
    }

    /** Schedules a D-SACK for the next ACK (RFC 2883). */
    static void reportDuplicate(TcpConnection c, int start, int end) {
        if (c.is(Tcb.ECN)) {
            AccurateEcn.onDuplicate(c, start, end);
        }
        if (c.is(Tcb.SACK) && Sequence.before(start, end)) {
            c.requireExtras().dsackStart = start;
            c.extras.dsackEnd = end;
            c.set(Tcb.DSACK_PENDING);
        }
        AckPolicy.ackImmediately(c);
    }

    /** Handles the peer's FIN after all data before it was received (eighth check). */
    private static void onFin(TcpConnection c, long now) {
        c.rcvNxt++;
        c.rcvAdv = Sequence.max(c.rcvAdv, c.rcvNxt);
        c.set(Tcb.ACK_NOW);
        c.engine.receiveMemory.dropReassembly(c);
        switch (c.state) {
            case ESTABLISHED -> c.state = CLOSE_WAIT;
            case FIN_WAIT_1 -> c.state = CLOSING;
            case FIN_WAIT_2 -> {
                c.engine.events.peerFinished(c);
                if (c.state != CLOSED) {
                    c.engine.sendFinalAck(c, now);
                    c.engine.finish(c, CloseReason.FINISHED, TIME_WAIT);
                }
                return;
            }
            default -> {
            }
        }
        c.engine.events.peerFinished(c);
    }
}
