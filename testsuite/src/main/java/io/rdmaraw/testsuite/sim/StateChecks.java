package io.rdmaraw.testsuite.sim;

import static io.rdmaraw.testsuite.sim.SimulationFailure.check;

import io.rdmaraw.tcp.TcpConnection;
import io.rdmaraw.tcp.TcpState;

/** What the core's own variables must say between events. */
final class StateChecks {
    /** Limited transmit (RFC 3042) and the rounding of rate reduction may pass the congestion window by so much. */
    private static final int SEGMENTS_BEYOND_WINDOW = 3;

    private StateChecks() {
    }

    static void atRest(String name, TcpConnection c, long engineDeadlineNanos) {
        check(c.sendNext() - c.sendUnacknowledged() >= 0, "UNA <= NXT", name + " " + c);
        check(c.receiveEdge() - c.receiveNext() >= 0, "the window edge lies ahead", name + " " + c);
        check(c.inFlightBytes() >= 0 && c.inFlightBytes() <= c.sendNext() - c.sendUnacknowledged(),
                "in flight is a part of outstanding", name + " " + c + " in flight " + c.inFlightBytes());
        boolean opening = c.state() == TcpState.SYN_SENT || c.state() == TcpState.SYN_RECEIVED;
        check(opening || c.congestionWindowBytes() > 0, "the congestion window is open", name + " " + c);
        boolean waits = c.sendNext() != c.sendUnacknowledged() || c.queuedBytes() > 0 || c.state() == TcpState.SYN_SENT
                || c.state() == TcpState.SYN_RECEIVED || c.state() == TcpState.LAST_ACK;
        check(!waits || c.deadlineNanos() != Long.MAX_VALUE, "what lives has a deadline", name + " " + c + " queued "
                + c.queuedBytes());
        check(!waits || engineDeadlineNanos != Long.MAX_VALUE, "the engine knows the deadline", name + " " + c);
    }

    /**
     * {@code nextBefore} is SND.NXT before the packet was polled. A tail loss probe may carry new data whatever the
     * window is (RFC 8985 section 7.3): one segment until something is acknowledged.
     */
    static void afterSending(String name, EngineSocket socket, Packet packet, int nextBefore) {
        TcpConnection c = socket.connection;
        boolean brandNew = packet.payload.length > 0 && packet.seq - nextBefore >= 0;
        if (!brandNew) {
            return;
        }
        int limit = c.congestionWindowBytes() + SEGMENTS_BEYOND_WINDOW * c.segmentBytes();
        boolean beyond = c.inFlightBytes() > limit;
        boolean again = socket.sentBeyondWindow && socket.beyondAtUna == c.sendUnacknowledged();
        check(!beyond || !again, "flight <= cwnd when new data goes out", name + " " + c + " in flight "
                + c.inFlightBytes());
        socket.sentBeyondWindow = beyond;
        socket.beyondAtUna = c.sendUnacknowledged();
    }

    /**
     * RFC 9293 section 3.7.4 as Minshall has it, and Linux: a small segment waits while another one is outstanding. One
     * that is small because a device takes no more slices is as full as it gets, and SACK blocks take their room from
     * the payload (RFC 9293 section 3.7.1, Eff.snd.MSS).
     */
    static void nagle(String name, CorePlan plan, EngineSocket socket, Packet packet, int nextBefore,
                      boolean slicesFull) {
        TcpConnection c = socket.connection;
        int full = c.segmentBytes() - packet.sackOptionBytes();
        boolean small = packet.payload.length > 1 && packet.payload.length < full / 2;
        boolean brandNew = packet.seq - nextBefore >= 0;
        boolean free = slicesFull || plan.noDelay || socket.outputShut || packet.has(Packet.FIN)
                || packet.has(Packet.SYN);
        boolean windowCuts = c.sendWindowBytes() < 2 * c.segmentBytes() + (c.sendNext() - c.sendUnacknowledged());
        if (free || !small || !brandNew || windowCuts) {
            return;
        }
        boolean another = socket.smallOutstanding && socket.smallEnd - c.sendUnacknowledged() > 0;
        // One more may go as a tail loss probe.
        boolean again = socket.smallTwice && socket.smallTwiceAtUna == c.sendUnacknowledged();
        check(!another || !again, "Nagle", name + " " + c + " sends " + packet);
        socket.smallTwice = another;
        socket.smallTwiceAtUna = c.sendUnacknowledged();
        socket.smallOutstanding = true;
        socket.smallEnd = packet.end();
    }

    static boolean receives(TcpConnection c) {
        TcpState state = c.state();
        return state == TcpState.ESTABLISHED || state == TcpState.FIN_WAIT_1 || state == TcpState.FIN_WAIT_2;
    }
}
