package io.rdmaraw.tcp;

import static io.rdmaraw.tcp.TcpState.*;

import io.netty.buffer.ByteBuf;
import io.rdmaraw.tcp.segment.Segment;
import io.rdmaraw.tcp.segment.Sequence;
import io.rdmaraw.tcp.segment.TcpFlags;

/** Text and FIN of an acceptable segment (RFC 9293 section 3.10.7.4, seventh and eighth check). */
final class DataInput {
    private DataInput() {
    }

    static void process(TcpConnection c, Segment s, long now) {
        if (!c.state.mayReceive()) {
            // The peer's FIN has come; text after it is ignored, a repeated FIN acknowledged.
            AckPolicy.onDisorder(c);
            return;
        }
        int start = s.seq;
        int end = start + s.payloadLength;
        boolean fin = s.has(TcpFlags.FIN);
        if (Sequence.after(end, c.rcvAdv)) {
            // Beyond the window: cut off, and the FIN with it.
            end = c.rcvAdv;
            fin = false;
        }
        if (c.is(Tcb.FIN_SEEN)) {
            // The first FIN stays where it is, and nothing comes after it.
            end = Sequence.after(end, c.finSeq) ? Sequence.max(start, c.finSeq) : end;
            fin &= end == c.finSeq;
        }
        if (c.is(Tcb.CLOSE_CALLED) && Sequence.after(end, c.rcvNxt)) {
            // RFC 9293 section 3.6.1 and Linux: this will not be read, and the peer must know.
            c.engine.reset(c);
            c.engine.finish(c, CloseReason.DATA_AFTER_CLOSE, CLOSED);
            return;
        }
        if (!c.engine.receiveMemory.takes(c)) {
            c.engine.counters.receiveMemoryDrops += s.segmentCount();
            c.dataRefused = true;
            AckPolicy.onDisorder(c);
            return;
        }
        c.dataRefused = false;
        if (s.dscp != 0 || c.extras != null) {
            c.requireExtras().receivedDscp = (byte) s.dscp;
        }
        if (fin) {
            c.finSeq = end;
            c.set(Tcb.FIN_SEEN);
        }
        if (Sequence.beforeOrAt(start, c.rcvNxt)) {
            inOrder(c, s, end, now);
        } else {
            outOfOrder(c, s, end, fin);
        }
        if (c.is(Tcb.FIN_SEEN) && c.rcvNxt == c.finSeq && c.state.mayReceive()) {
            onFin(c, now);
        }
    }

    private static void inOrder(TcpConnection c, Segment s, int end, long now) {
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
                deliver(c, s.buffers[i], s.indices[i] + skip, length);
            }
            at += s.lengths[i];
        }
        boolean filledHole = c.reassembly != null;
        if (filledHole) {
            drain(c, !Sequence.before(start, before));
        }
        if (c.rcvNxt != before) {
            boolean merged = s.segmentSize > 0;
            AckPolicy.onData(c, merged ? s.segmentSize : s.payloadLength, !merged && s.has(TcpFlags.PSH), now);
            if (merged && s.has(TcpFlags.PSH)) {
                AckPolicy.onPushAfterRun(c);
            }
            ReceiveTuning.onData(c, s, now);
            if (filledHole) {
                // RFC 5681 section 4.2: at once, when a gap is filled
                AckPolicy.onDisorder(c);
            }
        }
    }

    private static void deliver(TcpConnection c, ByteBuf buffer, int index, int length) {
        c.rcvNxt += length;
        c.engine.receiveMemory.deliver(c, length);
        c.bytesIn += length;
        c.engine.counters.payloadBytesIn += length;
        try {
            c.engine.events.data(c, buffer, index, length);
        } catch (RuntimeException | OutOfMemoryError e) {
            // The peer hears that the bytes have come, and the user has not got them: a stream has no holes.
            c.engine.abort(c, CloseReason.ABORTED);
            throw e;
        }
    }

    /** @param report whether the sender is told what the segment in order brought again of what was held */
    private static void drain(TcpConnection c, boolean report) {
        Reassembly held = c.reassembly;
        int edge = c.rcvNxt;
        held.beginSegment();
        while (held.hasAt(c.rcvNxt) && c.state.mayReceive()) {
            int length = held.firstEnd() - c.rcvNxt;
            held.noteDuplicate(held.firstStart(), Sequence.min(held.firstEnd(), edge));
            ByteBuf buffer = held.firstBuffer();
            int index = length > 0 ? held.firstIndexOf(c.rcvNxt) : 0;
            held.removeFirst();
            try {
                if (length > 0) {
                    deliver(c, buffer, index, length);
                }
            } finally {
                buffer.release();
            }
        }
        if (c.reassembly == null) {
            // The user ended the connection from within data().
            return;
        }
        if (report) {
            reportHeld(c, held);
        }
        c.engine.receiveMemory.count(held);
        held.ranges().removeBefore(c.is(Tcb.FIN_SEEN) && c.rcvNxt == c.finSeq ? c.rcvNxt + 1 : c.rcvNxt);
        if (held.isEmpty()) {
            c.reassembly = null;
            c.engine.receiveMemory.give(held);
        }
    }

    private static void outOfOrder(TcpConnection c, Segment s, int end, boolean fin) {
        int segments = s.segmentCount();
        c.engine.counters.outOfOrderSegments += segments;
        for (int i = 0; i < segments && !c.is(Tcb.SACK); i++) {
            oweDuplicateAck(c);
            AckPolicy.onDisorder(c);
        }
        AckPolicy.onDisorder(c);
        if (c.reassembly == null) {
            c.reassembly = c.engine.receiveMemory.take(c);
        }
        Reassembly held = c.reassembly;
        int at = s.seq;
        held.beginSegment();
        boolean copy = c.engine.events.isReceiveMemoryLow();
        // Pieces are found by search, ranges take work in proportion to their number.
        boolean full = held.ranges().count() >= c.engine.config.limits.maxOutOfOrderRanges
                && !held.ranges().touches(at, end);
        for (int i = 0; i < s.sliceCount && !full; i++) {
            int sliceEnd = Sequence.min(at + s.lengths[i], end);
            if (Sequence.before(at, sliceEnd)) {
                int need = Reassembly.charge(sliceEnd - at, s.buffers[i], copy);
                int n = c.engine.receiveMemory.makeRoom(held, need)
                        ? held.insert(at, sliceEnd, s.buffers[i], s.indices[i], copy, maxOutOfOrderBytes(c)) : -1;
                full = n < 0;
                if (!full) {
                    c.engine.receiveMemory.count(held);
                    c.engine.counters.duplicateSegments += n == 0 ? 1 : 0;
                    held.ranges().add(at, sliceEnd);
                }
            }
            at += s.lengths[i];
        }
        c.engine.receiveMemory.count(held);
        if (full) {
            c.engine.counters.receiveMemoryDrops += segments;
        } else if (fin) {
            held.ranges().add(end, end + 1);
        }
        // RFC 2883 section 4.2: also a part of a segment; of several parts the first.
        reportHeld(c, held);
        if (held.isEmpty()) {
            c.reassembly = null;
            c.engine.receiveMemory.give(held);
        }
    }

    /** A buffer that has grown is a promise to take in what was sent ahead too, with what that is charged besides. */
    private static int maxOutOfOrderBytes(TcpConnection c) {
        int configured = c.engine.config.maxOutOfOrderBytes;
        return c.receiveBufferBytes <= c.engine.config.receiveBufferBytes ? configured
                : (int) Math.max(configured, Math.min(1 << 30, c.receiveBufferBytes * 9L / 4));
    }

    /** RFC 5681 section 4.2: each segment out of order earns a duplicate ACK; with SACK one may speak for several.
     * The first is sent anyway; this counts those beyond it. */
    private static void oweDuplicateAck(TcpConnection c) {
        if (c.is(Tcb.ACK_NOW) && c.duplicateAcksOwed < Byte.MAX_VALUE) {
            c.duplicateAcksOwed++;
        }
    }

    /** Reports what the last segment brought of what was held already, if anything. */
    private static void reportHeld(TcpConnection c, Reassembly held) {
        if (Sequence.before(held.duplicateStart(), held.duplicateEnd())) {
            reportDuplicate(c, held.duplicateStart(), held.duplicateEnd());
        }
    }

    /** RFC 2883: tells the sender what came twice, with the next acknowledgement. */
    static void reportDuplicate(TcpConnection c, int start, int end) {
        if (c.is(Tcb.SACK) && Sequence.before(start, end)) {
            c.requireExtras().dsackStart = start;
            c.extras.dsackEnd = end;
            c.set(Tcb.DSACK_PENDING);
        }
        AckPolicy.onDisorder(c);
    }

    /** Eighth: the peer's FIN, now that all before it has come. */
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
