package io.rdmaraw.testsuite.sim;

import static io.rdmaraw.testsuite.sim.SimulationFailure.check;

import io.rdmaraw.tcp.TcpConnection;
import io.rdmaraw.tcp.TcpState;

/** Checks the state of the core's connections between events. */
final class StateChecks {
    /**
     * Limited transmit (RFC 3042) and rounding in rate reduction may exceed the congestion window by this many
     * segments.
     */
    private static final int SEGMENTS_BEYOND_WINDOW = 3;

    private StateChecks() {
    }

    static void atRest(String name, TcpConnection c, long engineDeadlineNanos) {
        check(c.sndNxt() - c.sndUna() >= 0, "UNA <= NXT", name + " " + c);
        check(c.rcvAdv() - c.rcvNxt() >= 0, "the window edge lies ahead", name + " " + c);
        check(c.inFlightBytes() >= 0 && c.inFlightBytes() <= c.sndNxt() - c.sndUna(),
                "in flight is a part of outstanding", name + " " + c + " in flight " + c.inFlightBytes());
        boolean opening = c.state() == TcpState.SYN_SENT || c.state() == TcpState.SYN_RECEIVED;
        check(opening || c.congestionWindowBytes() > 0, "the congestion window is open", name + " " + c);
        boolean waits = c.sndNxt() != c.sndUna() || c.queuedBytes() > 0 || c.state() == TcpState.SYN_SENT
                || c.state() == TcpState.SYN_RECEIVED || c.state() == TcpState.LAST_ACK;
        check(!waits || c.deadlineNanos() != Long.MAX_VALUE, "what lives has a deadline", name + " " + c + " queued "
                + c.queuedBytes());
        check(!waits || engineDeadlineNanos != Long.MAX_VALUE, "the engine knows the deadline", name + " " + c);
    }

    /**
     * Checks that new data respects the congestion window. A tail loss probe may exceed it by one segment until
     * something is acknowledged (RFC 8985 section 7.3).
     *
     * @param nextBefore SND.NXT before the packet was polled
     */
    static void afterSending(String name, EngineSocket socket, Packet packet, int nextBefore) {
        TcpConnection c = socket.connection;
        boolean brandNew = packet.payload.length > 0 && packet.seq - nextBefore >= 0;
        if (!brandNew) {
            return;
        }
        int limit = c.congestionWindowBytes() + SEGMENTS_BEYOND_WINDOW * c.segmentBytes();
        boolean beyond = c.inFlightBytes() > limit;
        boolean again = socket.sentBeyondWindow && socket.beyondAtUna == c.sndUna();
        check(!beyond || !again, "flight <= cwnd when new data goes out", name + " " + c + " in flight "
                + c.inFlightBytes());
        socket.sentBeyondWindow = beyond;
        socket.beyondAtUna = c.sndUna();
    }

    /**
     * Checks Nagle's algorithm (RFC 9293 section 3.7.4) in Minshall's variant, as on Linux: a small segment waits
     * while another small one is unacknowledged. A segment is exempt if it is small because the device takes no
     * more slices. SACK and AccECN reduce the size of a full segment (RFC 9293 section 3.7.1, Eff.snd.MSS).
     */
    static void nagle(String name, CorePlan plan, EngineSocket socket, Packet packet, int nextBefore,
                      boolean slicesFull) {
        TcpConnection c = socket.connection;
        int full = c.segmentBytes() - packet.variableOptionBytes();
        boolean small = packet.payload.length > 1 && packet.payload.length < full / 2;
        boolean brandNew = packet.seq - nextBefore >= 0;
        boolean free = slicesFull || plan.noDelay || socket.outputShut || packet.has(Packet.FIN)
                || packet.has(Packet.SYN);
        boolean windowCuts = c.sendWindowBytes() < 2 * c.segmentBytes() + (c.sndNxt() - c.sndUna());
        if (free || !small || !brandNew || windowCuts) {
            return;
        }
        boolean another = socket.smallOutstanding && socket.smallEnd - c.sndUna() > 0;
        // One more small segment may be sent as a tail loss probe.
        boolean again = socket.smallTwice && socket.smallTwiceAtUna == c.sndUna();
        check(!another || !again, "Nagle", name + " " + c + " sends " + packet);
        socket.smallTwice = another;
        socket.smallTwiceAtUna = c.sndUna();
        socket.smallOutstanding = true;
        socket.smallEnd = packet.end();
    }

    static boolean receives(TcpConnection c) {
        TcpState state = c.state();
        return state == TcpState.ESTABLISHED || state == TcpState.FIN_WAIT_1 || state == TcpState.FIN_WAIT_2;
    }
}
