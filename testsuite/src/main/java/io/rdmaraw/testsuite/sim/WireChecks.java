package io.rdmaraw.testsuite.sim;

import static io.rdmaraw.testsuite.sim.SimulationFailure.check;

/**
 * Checks the packets of one connection at one end against the RFCs' requirements for senders and receivers. It
 * knows only the packets, and compares each transmitted packet with those received before.
 */
final class WireChecks {
    private static final int DEFAULT_MSS_IPV4 = 536;
    private static final int DEFAULT_MSS_IPV6 = 1220;
    private static final int INITIAL_WINDOW_SEGMENTS = 10;
    /**
     * Segments allowed beyond twice the delivered data: two for limited transmit (RFC 3042) or F-RTO (RFC 5682),
     * and a tail loss probe (RFC 8985 section 7.3).
     */
    private static final int SLACK_SEGMENTS = 3;
    private static final long UNKNOWN = Long.MIN_VALUE;

    private final String name;
    private final CorePlan config;
    private int stream;
    private final AckChecks acks;
    private final RetransmitChecks retransmits;
    private final EcnChecks ecn;

    // State of the transmitted packets.
    private long iss = UNKNOWN;
    private long maxSentEnd;
    private long finSeq = UNKNOWN;
    private int myShift;
    private long myEdge = UNKNOWN;
    private long lastTsValue = UNKNOWN;
    private int largestPayload;

    // State of the received packets.
    private long irs = UNKNOWN;
    private Packet peerSyn;
    private Packet mySyn;
    /**
     * Set if the peer's ACK lacks the timestamp that carries the options of a SYN cookie. In this case no options
     * are in use (RFC 4987 section 3.6).
     */
    private boolean cookieForgotten;
    private long maxAck;
    private long takenAck;
    private long maxSack;
    private long duplicateBytes;
    private long peerEdge;
    private final java.util.Set<Integer> tsValues = new java.util.HashSet<>();

    WireChecks(String name, CorePlan config, int stream) {
        this.name = name;
        this.config = config;
        this.stream = stream;
        acks = new AckChecks(config);
        retransmits = new RetransmitChecks(config.maxPacingRate, config.mtuBytes);
        ecn = new EcnChecks(config);
    }

    /** Sets the stream of the bytes that this end sends; -1 while the connection is not accepted. */
    void stream(int of) {
        stream = of;
    }

    private void demand(boolean holds, String rule, Packet packet) {
        if (!holds) {
            throw new SimulationFailure(rule, name + " at " + relative(packet));
        }
    }

    private String relative(Packet p) {
        return p + " [seq " + (unwrapSent(p.seq) - iss) + " ack " + (irs == UNKNOWN ? 0 : acks.unwrap(p.ack) - irs)
                + ", una " + (maxAck - iss) + " nxt " + (maxSentEnd - iss) + " edge " + (peerEdge - iss) + ", received "
                + (irs == UNKNOWN ? 0 : acks.contiguous() - irs) + "]";
    }

    private long unwrapSent(int seq) {
        return maxSentEnd + (seq - (int) maxSentEnd);
    }

    private boolean timestampsOn() {
        return peerSyn != null && mySyn != null && peerSyn.timestamps && mySyn.timestamps && !cookieForgotten;
    }

    private boolean sackOn() {
        return peerSyn != null && mySyn != null && peerSyn.sackPermitted && mySyn.sackPermitted && !cookieForgotten;
    }

    private boolean scalingOn() {
        return peerSyn != null && mySyn != null && peerSyn.windowScale >= 0 && mySyn.windowScale >= 0
                && !cookieForgotten;
    }

    private int peerMss() {
        int standard = peerSyn.isIpv6() ? DEFAULT_MSS_IPV6 : DEFAULT_MSS_IPV4;
        return peerSyn.mss == 0 ? standard : peerSyn.mss;
    }

    // ---- in ----

    /** Checks an intact packet that arrives at this end. */
    void received(Packet p, long nowNanos) {
        retransmits.heard();
        if (p.has(Packet.SYN) && irs == UNKNOWN && !p.has(Packet.RST) && isAnswer(p)) {
            irs = (1L << 32) + (p.seq & 0xffff_ffffL);
            acks.begin(irs);
            peerSyn = p;
        }
        if (irs == UNKNOWN || p.has(Packet.RST)) {
            return;
        }
        long seq = acks.unwrap(p.seq);
        if (config.cookies && myEdge != UNKNOWN && maxAck == iss && p.has(Packet.ACK) && p.ack == (int) (iss + 1)) {
            // An end that sent a SYN without ACK itself has not sent a cookie.
            cookieForgotten = !p.has(Packet.SYN) && !p.timestamps && peerSyn.timestamps && mySyn != null
                    && mySyn.has(Packet.ACK) && mySyn.timestamps;
        }
        if (p.timestamps) {
            tsValues.add(p.tsValue);
        }
        if (seq + p.sequenceLength() < irs || p.has(Packet.SYN) && seq != irs) {
            return;
        }
        boolean perhapsTaken = seq + p.sequenceLength() > acks.certainContiguous();
        boolean fresh = seq + p.sequenceLength() > acks.contiguous() && seq + p.sequenceLength() <= myEdge;
        // RFC 9293 section 3.10.7.4: the acknowledgment of an unacceptable segment is ignored.
        boolean acceptable = p.sequenceLength() == 0 ? seq >= acks.contiguous() && seq <= myEdge : fresh;
        // RFC 5961 section 5.2: with a very old acknowledgment number even good data is dropped, so no ACK is
        // owed for it. The whole offered window must be accepted, including the unit added by rounding (RFC 7323
        // section 2.4).
        boolean oldAck = iss != UNKNOWN && unwrapSent(p.ack) < maxAck;
        boolean taken = acks.received(p, seq, oldAck ? seq : myEdge, nowNanos);
        boolean opening = iss == UNKNOWN || maxAck == iss;
        if (p.has(Packet.ACK) && iss != UNKNOWN) {
            takeAck(p, acceptable);
        }
        // RFC 5961 section 4.2: a SYN on an open connection is answered with an ACK and otherwise ignored.
        if (opening || !p.has(Packet.SYN)) {
            ecn.received(p, taken, perhapsTaken);
        } else {
            ecn.receivedLate(p);
        }
    }

    /**
     * Returns whether a SYN can be the peer's: without ACK, or acknowledging this end's SYN and possibly its
     * data.
     */
    private boolean isAnswer(Packet p) {
        return !p.has(Packet.ACK) || iss != UNKNOWN && unwrapSent(p.ack) > iss && unwrapSent(p.ack) <= maxSentEnd;
    }

    private void takeAck(Packet p, boolean acceptable) {
        long ack = unwrapSent(p.ack);
        if (ack > maxSentEnd || ack < iss) {
            return;
        }
        int shift = scalingOn() && !p.has(Packet.SYN) ? Math.min(peerSyn.windowScale, 14) : 0;
        peerEdge = Math.max(peerEdge, ack + ((long) p.window << shift));
        if (ack == maxAck && p.payload.length == 0 && ack < maxSentEnd && !sackOn()) {
            // RFC 5681 section 3.2 and RFC 6937: without SACK, a duplicate ACK means that one segment has left
            // the network.
            duplicateBytes += Math.min(peerMss(), config.mtuBytes);
        }
        maxAck = Math.max(maxAck, ack);
        takenAck = acceptable ? Math.max(takenAck, ack) : takenAck;
        for (int i = 1; i < p.sack.length; i += 2) {
            long right = unwrapSent(p.sack[i]);
            maxSack = right <= maxSentEnd ? Math.max(maxSack, right) : maxSack;
        }
    }

    // ---- out ----

    /** Checks a packet that this end sends. */
    void sent(Packet p, long nowNanos, boolean resetAllowed) {
        if (p.has(Packet.RST)) {
            demand(resetAllowed, "resets nothing that is alive", p);
            return;
        }
        if (iss == UNKNOWN) {
            if (!p.has(Packet.SYN)) {
                // A connection from a SYN cookie: its SYN-ACK was sent without keeping state.
                iss = (1L << 32) + (p.seq & 0xffff_ffffL) - 1;
            } else {
                iss = (1L << 32) + (p.seq & 0xffff_ffffL);
                mySyn = p;
                myShift = Math.max(p.windowScale, 0);
                if (config.fastOpen && peerSyn != null) {
                    // RFC 7413 section 4.2.2: a server may respond to the data of a SYN within the SYN's window.
                    peerEdge = iss + 1 + peerSyn.window;
                }
            }
            maxSentEnd = iss;
            maxAck = iss;
            maxSack = iss;
            takenAck = iss;
        }
        long seq = unwrapSent(p.seq);
        checkOptions(p);
        checkAck(p);
        checkSequence(p, seq);
        checkWindow(p, seq);
        checkSize(p, seq);
        ecn.sent(p, seq < maxSentEnd, p.payload.length);
        retransmits.sent(p, seq, seq < maxSentEnd && p.sequenceLength() > 0, nowNanos);
        maxSentEnd = Math.max(maxSentEnd, seq + p.sequenceLength());
        largestPayload = Math.max(largestPayload, p.payload.length);
        if (p.has(Packet.ACK)) {
            acks.sent(p);
        }
    }

    private void checkOptions(Packet p) {
        boolean syn = p.has(Packet.SYN);
        demand(syn || p.mss == 0 && p.windowScale < 0 && !p.sackPermitted, "options of a SYN only in a SYN", p);
        if (!syn && mySyn != null) {
            demand(timestampsOn() == p.timestamps, "timestamps as agreed", p);
            demand(p.sack.length == 0 || sackOn(), "SACK as agreed", p);
        }
        if (p.timestamps && mySyn != null) {
            demand(lastTsValue == UNKNOWN || p.tsValue - (int) lastTsValue >= 0, "timestamps don't go back", p);
            lastTsValue = p.tsValue;
            demand(!p.has(Packet.ACK) || tsValues.contains(p.tsEcho), "echoes a timestamp that came", p);
        }
    }

    private void checkAck(Packet p) {
        if (!p.has(Packet.ACK)) {
            demand(p.has(Packet.SYN), "all but SYN and RST acknowledge", p);
            return;
        }
        demand(irs != UNKNOWN, "acknowledges what has come", p);
        acks.check(p, this::demand);
        int shift = scalingOn() && !p.has(Packet.SYN) ? myShift : 0;
        long edge = acks.unwrap(p.ack) + ((long) p.window << shift);
        // The window field drops the bits below the scale, so a reduction by less than one unit is allowed (RFC
        // 7323 section 2.4). A SYN cannot offer more than 65535 (section 2.2). With fast open, a server may have
        // offered more in data sent before the end of the handshake, and a retransmitted SYN-ACK then appears to
        // shrink the window.
        boolean fullSyn = config.fastOpen && p.has(Packet.SYN) && p.has(Packet.ACK) && p.window == 0xFFFF;
        // A receiver that drops data for lack of memory offers a zero window until it has memory, so that the
        // peer does not give up.
        boolean refuses = p.window == 0 && acks.isShortOfMemory();
        demand(myEdge == UNKNOWN || edge > myEdge - (1L << shift) || fullSyn || refuses,
                "right window edge never shrinks", p);
        myEdge = Math.max(myEdge, edge);
    }

    private void checkSequence(Packet p, long seq) {
        demand(seq <= maxSentEnd, "leaves no hole in what it sends", p);
        demand(seq >= takenAck - 1, "sends nothing that was acknowledged", p);
        if (p.payload.length > 0 && stream >= 0 && seq > iss) {
            int wrong = Pattern.mismatch(stream, seq - iss - 1, p.payload);
            demand(wrong < 0, "sends the bytes of the application", p);
        }
        if (p.payload.length > 0 && stream >= 0 && p.has(Packet.SYN)) {
            demand(config.fastOpen, "data in a SYN only when asked for", p);
            demand(Pattern.mismatch(stream, 0, p.payload) < 0, "sends the bytes of the application", p);
        }
        if (p.has(Packet.FIN)) {
            long at = seq + p.payload.length;
            demand(finSeq == UNKNOWN || finSeq == at, "FIN has one place", p);
            finSeq = at;
        }
        demand(finSeq == UNKNOWN || p.payload.length == 0 || seq + p.payload.length <= finSeq, "nothing behind FIN", p);
    }

    private void checkWindow(Packet p, long seq) {
        int length = p.payload.length;
        if (length == 0 || peerSyn == null) {
            return;
        }
        long end = seq + length;
        boolean probe = length == 1;
        demand(probe || end <= peerEdge, "stays in the peer's window", p);
        long delivered = Math.max(maxAck, maxSack) - iss + duplicateBytes;
        long segment = Math.max(Math.min(peerMss(), config.mtuBytes - (p.isIpv6() ? 60 : 40)), largestPayload);
        long initial = INITIAL_WINDOW_SEGMENTS * segment;
        long slack = SLACK_SEGMENTS * segment;
        demand(end - iss <= initial + 2 * delivered + slack, "slow start", p);
    }

    private void checkSize(Packet p, long seq) {
        if (peerSyn == null || p.payload.length == 0) {
            return;
        }
        int options = (p.timestamps ? 12 : 0) + p.variableOptionBytes();
        demand(p.payload.length + options <= peerMss(), "keeps to the peer's MSS", p);
        int headers = p.isIpv6() ? 60 : 40;
        demand(headers + options + p.payload.length <= config.mtuBytes, "keeps to the MTU", p);
    }

    /** Records that the core has counted the last packet as dropped for lack of memory. */
    void droppedForMemory(Packet p) {
        acks.droppedForMemory(p);
    }

    /** Checks the connection when this end has nothing to send. */
    void settled(long nowNanos, boolean established) {
        ecn.settled(established);
        String broken = acks.settled(nowNanos, established);
        check(broken == null, broken, name + " received " + (acks.contiguous() - irs) + ", acknowledged "
                + (acks.lastAck() - irs) + ", at " + nowNanos);
    }

    /** Records an ICMP message, after which an immediate retransmission does not violate the backoff. */
    void heardIcmp() {
        retransmits.heard();
    }
}
