package io.rdmaraw.tcp;

import io.rdmaraw.tcp.Tcb.RetransmitTimer;
import io.rdmaraw.tcp.send.SendState;

/**
 * The timers of a connection: one for data in flight (retransmission, tail loss probe, reordering, persist), one
 * for delayed ACKs, and one for keepalive and FIN-WAIT-2. Setting a timer only writes a field. {@link #schedule}
 * files the connection in the wheel under its earliest deadline.
 */
final class ConnectionTimers {
    /** Maximum time for which TCP_CORK holds data back (tcp(7)). */
    private static final long MAX_CORK_NANOS = 200_000_000L;

    private ConnectionTimers() {
    }

    static long earliestDeadline(TcpConnection c) {
        long deadline = Math.min(c.retransmitDeadlineNanos, Math.min(c.ackDeadlineNanos, c.idleDeadlineNanos));
        if (c.orphan != null) {
            deadline = Math.min(deadline, Orphans.deadline(c));
        }
        return c.userTimeoutMillis == 0 ? deadline : Math.min(deadline, userTimeoutDeadline(c));
    }

    /** Returns the deadline set by the user timeout for unacknowledged or unsent data (RFC 9293 section 3.8.3). */
    private static long userTimeoutDeadline(TcpConnection c) {
        boolean waits = c.isSending() || c.state == TcpState.SYN_SENT || c.state == TcpState.SYN_RECEIVED;
        return waits && c.userTimeoutMillis > 0 && c.lastProgressNanos != Tcb.FROM_NOW
                ? c.lastProgressNanos + millis(c.userTimeoutMillis) : Tcb.NEVER;
    }

    private static long millis(int millis) {
        return millis * 1_000_000L;
    }

    static long keepAliveIdleNanos(TcpConnection c) {
        return c.extras == null || c.extras.keepAliveIdleMillis == 0 ? c.engine.config.keepAliveIdleNanos
                : millis(c.extras.keepAliveIdleMillis);
    }

    static long keepAliveIntervalNanos(TcpConnection c) {
        return c.extras == null || c.extras.keepAliveIntervalMillis == 0 ? c.engine.config.keepAliveIntervalNanos
                : millis(c.extras.keepAliveIntervalMillis);
    }

    private static boolean isIdleTimerSet(TcpConnection c) {
        return c.idleDeadlineNanos != Tcb.NEVER && c.idleDeadlineNanos != Tcb.FROM_NOW;
    }

    /**
     * Returns the name by which ss(8) shows the running timer, or an empty string. A timer for data in flight
     * takes precedence.
     */
    static String timerName(TcpConnection c) {
        return switch (c.retransmitTimer) {
            case PERSIST -> "persist";
            case NONE -> !isIdleTimerSet(c) ? "" : c.state == TcpState.FIN_WAIT_2 ? "timewait" : "keepalive";
            default -> "on";
        };
    }

    /** Returns the deadline of the timer that {@link #timerName} names, or 0 if none is running. */
    static long reportedDeadline(TcpConnection c) {
        return c.retransmitTimer != RetransmitTimer.NONE ? c.retransmitDeadlineNanos
                : isIdleTimerSet(c) ? c.idleDeadlineNanos : 0;
    }

    /**
     * Completes the timers of a connection that has nothing more to send for now. Deadlines that were to count
     * from now get their time, and the connection is filed in the wheel under its earliest deadline.
     */
    static void schedule(TcpConnection c, long now) {
        if (c.lastProgressNanos == Tcb.FROM_NOW) {
            c.lastProgressNanos = now;
        }
        if (c.idleDeadlineNanos == Tcb.FROM_NOW) {
            c.idleDeadlineNanos = now + finWait2Nanos(c);
        }
        if (c.orphan != null && c.orphan.lastProgressNanos == Tcb.FROM_NOW) {
            c.orphan.lastProgressNanos = now;
        }
        SendState f = c.sendState;
        if (f != null && f.isIdle()) {
            AckInput.release(c, f);
            f = null;
        }
        if (c.rate != null) {
            c.rate.onNothingToSend(c, f);
        }
        boolean paced = c.pacer != null && Pacer.schedule(c);
        if (f != null && !paced && c.state.isSynchronized() && f.scoreboard.isEmpty()
                && c.retransmitTimer != RetransmitTimer.PERSIST) {
            // RFC 9293 section 3.8.6.1: data waits for the window, and no ACK is due that could open it.
            c.setRetransmitTimer(RetransmitTimer.PERSIST,
                    now + (isHeldByCork(c) ? MAX_CORK_NANOS : RttEstimator.backedOffRtoNanos(c)));
        }
        c.deadlineNanos = earliestDeadline(c);
        if (c.deadlineNanos < c.wheelDeadlineNanos) {
            c.engine.wheel.schedule(c);
        }
    }

    private static long finWait2Nanos(TcpConnection c) {
        return c.extras == null || c.extras.finWait2Millis == 0 ? c.engine.config.finWait2Nanos
                : millis(c.extras.finWait2Millis);
    }

    /**
     * Returns whether TCP_CORK is the only reason why the queued data is not sent. Callers have checked that
     * nothing is in flight.
     */
    static boolean isHeldByCork(TcpConnection c) {
        return c.isCorked() && c.sndWnd > 0 && c.sndWnd >= c.unsentBytes();
    }

    /**
     * Starts the retransmission timer anew after a segment was sent or acknowledged (RFC 6298 rules 5.1 to 5.3).
     */
    static void restartRetransmitTimer(TcpConnection c, SendState f, long now) {
        if (f == null || f.scoreboard.isEmpty()) {
            c.stopRetransmitTimer();
            return;
        }
        long rtoAt = now + RttEstimator.backedOffRtoNanos(c);
        long probeAt = TailLossProbe.deadline(c, f, now);
        if (probeAt != Tcb.NEVER) {
            // RFC 8985 section 7.2: the probe is sent first, even if the RTO expires at the same time.
            c.setRetransmitTimer(RetransmitTimer.TLP, Math.min(probeAt, rtoAt));
        } else {
            c.setRetransmitTimer(RetransmitTimer.RTO, rtoAt);
        }
    }

    /** Starts the retransmission timer after new data was sent, if necessary. */
    static void onSent(TcpConnection c, SendState f, long now) {
        if (c.retransmitTimer == RetransmitTimer.NONE || c.retransmitTimer == RetransmitTimer.PERSIST
                || c.retransmitTimer == RetransmitTimer.TLP) {
            // RFC 8985 section 7.2: the probe timeout counts from the last new data.
            restartRetransmitTimer(c, f, now);
        }
    }

    static void startKeepAlive(TcpConnection c) {
        if (c.state.ordinal() < TcpState.ESTABLISHED.ordinal() || c.state == TcpState.TIME_WAIT
                || c.is(Tcb.CLOSE_CALLED) && c.state == TcpState.FIN_WAIT_2) {
            return;
        }
        c.keepAliveProbesSent = 0;
        c.idleDeadlineNanos = c.is(Tcb.KEEP_ALIVE)
                ? c.lastReceiveNanos + keepAliveIdleNanos(c) : Tcb.NEVER;
    }

    static void startFinWait2(TcpConnection c) {
        if (c.extras != null && c.extras.finWait2Millis == ConnectionExtras.NO_FIN_WAIT_2) {
            c.engine.queueReset(c);
            c.engine.finish(c, CloseReason.FINISHED, TcpState.CLOSED);
            return;
        }
        c.idleDeadlineNanos = Tcb.FROM_NOW;
        c.engine.queueOutput(c);
    }

    /** Handles the timers that have expired; called by the timer wheel. */
    static void expire(TcpConnection c, long now) {
        if (userTimeoutDeadline(c) <= now) {
            timeOut(c);
            return;
        }
        if (Orphans.deadline(c) <= now) {
            c.engine.counters.orphanTimeouts++;
            c.engine.queueReset(c);
            timeOut(c);
            return;
        }
        if (c.ackDeadlineNanos <= now) {
            c.ackDeadlineNanos = Tcb.NEVER;
            c.set(Tcb.ACK_NOW);
        }
        if (c.retransmitDeadlineNanos <= now) {
            RetransmitTimer timer = c.retransmitTimer;
            c.stopRetransmitTimer();
            switch (timer) {
                case SYN -> Handshake.onTimeout(c, now);
                case RTO -> Recovery.onTimeout(c, now);
                case TLP -> TailLossProbe.onTimeout(c, now);
                case REORDERING -> Recovery.onReorderingTimeout(c, now);
                case PERSIST -> onPersist(c, now);
                case NONE -> {
                }
            }
        }
        if (c.idleDeadlineNanos <= now && c.idleDeadlineNanos != Tcb.FROM_NOW && c.state != TcpState.CLOSED) {
            c.idleDeadlineNanos = Tcb.NEVER;
            onIdle(c, now);
        }
        if (c.state != TcpState.CLOSED && c.state != TcpState.TIME_WAIT) {
            c.engine.queueOutput(c);
        }
    }

    /**
     * Probes a zero window at growing intervals. The probing does not end while the peer answers (RFC 9293
     * section 3.8.6.1).
     */
    private static void onPersist(TcpConnection c, long now) {
        if (isHeldByCork(c)) {
            // The data was held back locally; the peer has not failed to answer.
            c.set(Tcb.OVERRIDE_SWS);
            return;
        }
        if (endIfTimedOut(c)) {
            return;
        }
        onUnansweredTimeout(c);
        c.setRetransmitTimer(RetransmitTimer.PERSIST, now + RttEstimator.backedOffRtoNanos(c));
        if (c.sndWnd > 0) {
            // RFC 9293 section 3.8.6.2.1 (4): the window is small but not closed, so a segment that fits is sent.
            c.set(Tcb.OVERRIDE_SWS);
        } else {
            c.set(Tcb.PROBE_DUE);
            c.engine.counters.zeroWindowProbes++;
        }
    }

    /**
     * Ends the connection if too many timeouts have passed without an answer (R2, RFC 9293 section 3.8.3).
     * Returns whether it has ended.
     */
    static boolean endIfTimedOut(TcpConnection c) {
        if (c.userTimeoutMillis > 0) {
            // The user timeout limits the time instead of the number of attempts.
            return false;
        }
        TcpConfig config = c.engine.config;
        int limit = c.is(Tcb.CLOSE_CALLED) ? Math.min(config.orphanRetries, config.maxTimeouts) : config.maxTimeouts;
        if (c.unansweredTimeouts < limit) {
            return false;
        }
        timeOut(c);
        return true;
    }

    /**
     * Counts a timeout without an answer, doubles the next one (RFC 6298 section 5.5), and changes the flow label. If
     * the number reaches R1, the path is reported as suspect.
     */
    static void onUnansweredTimeout(TcpConnection c) {
        c.backoff = (byte) Math.min(Byte.MAX_VALUE, c.backoff + 1);
        c.unansweredTimeouts = (byte) Math.min(Byte.MAX_VALUE, c.unansweredTimeouts + 1);
        SegmentOutput.changeFlowLabel(c);
        if (c.unansweredTimeouts == c.engine.config.pathSuspectTimeouts) {
            c.engine.counters.suspectPaths++;
            c.engine.events.pathSuspect(c);
        }
    }

    static void timeOut(TcpConnection c) {
        if (!c.is(Tcb.PASSIVE_OPEN) || c.is(Tcb.REPORTED_TO_USER)) {
            c.engine.counters.timedOutConnections++;
        }
        c.engine.finish(c, CloseReason.TIMED_OUT, TcpState.CLOSED);
    }

    private static void onIdle(TcpConnection c, long now) {
        if (c.state == TcpState.FIN_WAIT_2 && c.is(Tcb.CLOSE_CALLED)) {
            // As Linux's tcp_fin_timeout: the wait for the peer's FIN is over.
            c.engine.finish(c, CloseReason.FINISHED, TcpState.CLOSED);
            return;
        }
        if (!c.is(Tcb.KEEP_ALIVE)) {
            return;
        }
        // RFC 9293 section 3.8.4
        long silenceNanos = now - c.lastReceiveNanos;
        if (silenceNanos < keepAliveIdleNanos(c) || c.isSending()) {
            // A segment has arrived since the timer was set, or the retransmission timer already tests the peer.
            c.keepAliveProbesSent = 0;
            c.idleDeadlineNanos = (c.isSending() ? now : c.lastReceiveNanos) + keepAliveIdleNanos(c);
            return;
        }
        if (hasKeepAliveFailed(c, silenceNanos)) {
            c.engine.queueReset(c);
            timeOut(c);
            return;
        }
        c.keepAliveProbesSent++;
        c.engine.counters.keepAliveProbes++;
        c.set(Tcb.PROBE_DUE);
        c.idleDeadlineNanos = now + keepAliveIntervalNanos(c);
    }

    /**
     * Returns whether keepalive has failed. As on Linux, a user timeout replaces the number of probes, but at
     * least one probe must have been sent.
     */
    private static boolean hasKeepAliveFailed(TcpConnection c, long silenceNanos) {
        if (c.userTimeoutMillis > 0) {
            return c.keepAliveProbesSent > 0 && silenceNanos >= millis(c.userTimeoutMillis);
        }
        int own = c.extras == null ? 0 : c.extras.keepAliveProbes;
        int limit = own > 0 ? own : c.engine.config.keepAliveProbes;
        return c.keepAliveProbesSent >= limit;
    }
}
