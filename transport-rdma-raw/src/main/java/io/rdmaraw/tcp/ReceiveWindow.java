package io.rdmaraw.tcp;

import io.rdmaraw.tcp.segment.Sequence;

/**
 * Computes the advertised window. It avoids silly window steps and never retracts the advertised edge. While data
 * is refused for lack of memory, the window is 0; otherwise the peer would time out after several
 * retransmissions. Data within the advertised edge is still accepted when memory is available (as Linux).
 */
final class ReceiveWindow {
    private ReceiveWindow() {
    }

    /** Returns the window field of a segment that is sent now, and updates the advertised edge. */
    static int advertise(TcpConnection c, boolean syn) {
        int offered = c.rcvAdv - c.rcvNxt;
        if (c.state == TcpState.SYN_RECEIVED && !syn) {
            // The SYN-ACK cannot express a larger window, and its retransmission must not retract the edge.
            return offered >> c.rcvWndShift;
        }
        if (c.dataRefused && updateRefusal(c)) {
            return 0;
        }
        int buffer = c.engine.receiveMemory.bufferBytes(c);
        int free = freeBytes(c, buffer);
        int window = offered;
        // RFC 9293 section 3.8.6.2.2: the edge moves by at least a full segment or half the buffer.
        if (free - offered >= minStep(c, buffer)) {
            window = free;
        }
        // RFC 7323 section 2.2: the window field of a SYN is not scaled.
        int shift = syn ? 0 : c.rcvWndShift;
        int field = window >> shift;
        // The field counts in units of 2^shift bytes, but rcvNxt and rcvAdv can have any distance. Example: shift 4,
        // 44 bytes offered, 60 free.
        //
        //     rcvNxt                          32          44  48          60
        //     |-------------------------------|-----------|---|-----------|
        //                          rounded down      rcvAdv   rounded up  end of the buffer
        //
        // Rounding down would retract the edge from 44 to 32 (RFC 9293 section 3.8.6), so the field is rounded up
        // (RFC 7323 section 2.4). Each rounding can add almost a unit, and the next segment would start from the
        // larger edge. Therefore the field is rounded down if the edge would otherwise be a unit or more beyond the
        // buffer. The peer then sees an edge less than a unit below rcvAdv. rcvAdv keeps its value, so data up to it
        // is accepted.
        if (field << shift < offered && field + 1 << shift < free + (1 << shift)) {
            field++;
        }
        field = Math.min(field, 0xFFFF);
        c.rcvAdv = Sequence.max(c.rcvAdv, c.rcvNxt + (field << shift));
        return field;
    }

    /** Returns the free part of the buffer, limited to the range of the window field. */
    private static int freeBytes(TcpConnection c, int bufferBytes) {
        return Math.max(0, Math.min(bufferBytes - c.unreadBytes, 0xFFFF << c.rcvWndShift));
    }

    /** Returns the minimum step of the edge (RFC 9293 section 3.8.6.2.2). */
    private static int minStep(TcpConnection c, int bufferBytes) {
        return Math.min(bufferBytes / 2, c.receiveMss);
    }

    /** Updates whether data is refused, for a connection that has refused some before. Returns the new state. */
    private static boolean updateRefusal(TcpConnection c) {
        c.dataRefused = !c.engine.receiveMemory.mayAccept(c);
        return c.dataRefused;
    }

    /** Returns whether reading has opened the window far enough for an immediate window update. */
    static boolean needsUpdate(TcpConnection c) {
        if (!c.state.mayReceive()) {
            return false;
        }
        if (c.dataRefused && !updateRefusal(c)) {
            // The last advertised window was 0.
            return true;
        }
        int offered = c.rcvAdv - c.rcvNxt;
        if (c.receiveBufferBytes - c.unreadBytes < 2 * offered) {
            // Shortcut for the common case: the free space cannot reach twice the offered window, as required
            // below.
            return false;
        }
        int buffer = c.engine.receiveMemory.bufferBytes(c);
        int free = freeBytes(c, buffer);
        // The step is large enough (RFC 9293 section 3.8.6.2.2), and the peer's window at least doubles.
        return free - offered >= minStep(c, buffer) && free >= 2 * offered;
    }

    /**
     * Returns the shift count, 0 to 14, with which the window field can express the receive buffer (RFC 7323
     * section 2.3).
     */
    static int shiftFor(int receiveBufferBytes) {
        int shift = 0;
        while (shift < 14 && receiveBufferBytes >> shift > 0xFFFF) {
            shift++;
        }
        return shift;
    }
}
