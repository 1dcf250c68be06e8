package io.rdmaraw.tcp;

import io.rdmaraw.tcp.segment.Sequence;

/**
 * The window we offer: what the user leaves free, without silly small steps and without ever taking back. While data is
 * refused for lack of memory zero is said, or the peer would take us for dead when it has sent it often enough; but
 * what was offered is still taken once there is room (Linux does the same).
 */
final class ReceiveWindow {
    private ReceiveWindow() {
    }

    /** The window field for a segment that goes out now; moves the offered edge. */
    static int advertise(TcpConnection c, boolean syn) {
        int offered = c.rcvAdv - c.rcvNxt;
        if (c.state == TcpState.SYN_RECEIVED && !syn) {
            // Not more than the SYN-ACK can say: it may go out again, and must not take anything back.
            return offered >> c.rcvWndShift;
        }
        if (c.dataRefused && isRefusing(c)) {
            return 0;
        }
        int buffer = c.engine.receiveMemory.bufferBytes(c);
        int free = freeBytes(c, buffer);
        int window = offered;
        // RFC 9293 section 3.8.6.2.2: the edge moves by a full segment or half the buffer, or not at all.
        if (free - offered >= leastStep(c, buffer)) {
            window = free;
        }
        // RFC 7323 section 2.2: the window field of a SYN is not scaled.
        int shift = syn ? 0 : c.rcvWndShift;
        int field = window >> shift;
        // RFC 7323 section 2.4: rounding must not take back what was offered (RFC 9293 section 3.8.6). It must not add
        // a unit with every segment either, past what the buffer holds: then the field, not the edge, falls short of
        // what was offered, by less than a unit, and what was offered is still taken.
        if (field << shift < offered && field + 1 << shift < free + (1 << shift)) {
            field++;
        }
        field = Math.min(field, 0xFFFF);
        c.rcvAdv = Sequence.max(c.rcvAdv, c.rcvNxt + (field << shift));
        return field;
    }

    /** What is left of the buffer, as far as the window field can say it. */
    private static int freeBytes(TcpConnection c, int bufferBytes) {
        return Math.max(0, Math.min(bufferBytes - c.unreadBytes, 0xFFFF << c.rcvWndShift));
    }

    /** RFC 9293 section 3.8.6.2.2 */
    private static int leastStep(TcpConnection c, int bufferBytes) {
        return Math.min(bufferBytes / 2, c.receiveMss);
    }

    /** Whether data of a connection that was refused some would be refused again. */
    private static boolean isRefusing(TcpConnection c) {
        c.dataRefused = !c.engine.receiveMemory.takes(c);
        return c.dataRefused;
    }

    /** Whether reading has opened the window so far that the peer should be told at once. */
    static boolean wantsUpdate(TcpConnection c) {
        if (!c.state.mayReceive()) {
            return false;
        }
        if (c.dataRefused && !isRefusing(c)) {
            // Zero was told last.
            return true;
        }
        int offered = c.rcvAdv - c.rcvNxt;
        if (c.receiveBufferBytes - c.unreadBytes < 2 * offered) {
            // Mostly: whatever the memory of all allows, it is less than what is asked for below.
            return false;
        }
        int buffer = c.engine.receiveMemory.bufferBytes(c);
        int free = freeBytes(c, buffer);
        // The peer can use it (RFC 9293 section 3.8.6.2.2) and was running short: it sees at least twice what it had.
        return free - offered >= leastStep(c, buffer) && free >= 2 * offered;
    }

    /** The shift count that lets the window field express the receive buffer (RFC 7323 section 2.3), 0 to 14. */
    static int shiftFor(int receiveBufferBytes) {
        int shift = 0;
        while (shift < 14 && receiveBufferBytes >> shift > 0xFFFF) {
            shift++;
        }
        return shift;
    }
}
