package io.rdmaraw.testsuite.sim;

import static io.rdmaraw.testsuite.sim.SimulationFailure.check;

/**
 * Checks RFC 3168 section 6.1: which packets are ECN-capable, and that a mark is echoed until the sender reports
 * its reaction. For DCTCP it checks that the echo reflects each received mark. If both ends use AccECN,
 * {@link AccurateEcnChecks} applies instead.
 */
final class EcnChecks {
    private static final int SETUP = Packet.ECE | Packet.CWR;

    /**
     * RFC 3168 section 6.1.1: marks are echoed once an ECN-setup SYN or SYN-ACK has been seen in each direction.
     */
    private boolean sentSetup;
    private boolean receivedSetup;
    /**
     * RFC 3168 section 6.1.1: after one SYN or SYN-ACK without ECN, sent or received, this end does not use ECN.
     */
    private boolean plainSyn;
    private boolean agreed;
    private boolean echoOwed;
    /** Set for DCTCP. RFC 8257 section 3.2: each ACK reports whether the segments it acknowledges were marked. */
    private final boolean exact;
    /** First sequence number of the last data received. */
    private int lastSeq;
    /**
     * Set if the receiver was free to drop the last data, because it had an old acknowledgment number or
     * timestamp.
     */
    private boolean unsure;

    private final AccurateEcnChecks accurate;

    EcnChecks(CorePlan config) {
        exact = config.congestion.equals("dctcp");
        accurate = new AccurateEcnChecks(config.ecn, config.cookies);
    }

    /**
     * Records a received packet.
     *
     * @param taken        whether the packet contains new data that the receiver must accept
     * @param perhapsTaken whether the packet contains new data that the receiver may accept
     */
    void received(Packet p, boolean taken, boolean perhapsTaken) {
        accurate.received(p, taken);
        if (p.has(Packet.SYN)) {
            int wanted = p.has(Packet.ACK) ? Packet.ECE : SETUP;
            boolean setup = (p.flags & SETUP) == wanted;
            receivedSetup |= setup;
            plainSyn |= !setup;
            agreed = receivedSetup && sentSetup;
            return;
        }
        if (exact && p.payload.length > 0 && taken) {
            echoOwed = agreed && p.ecn == 3;
            lastSeq = p.seq;
            unsure = false;
            return;
        }
        unsure |= p.payload.length > 0 && perhapsTaken;
        if (!exact && agreed && p.has(Packet.CWR)) {
            echoOwed = false;
        }
        if (agreed && p.ecn == 3 && p.payload.length > 0 && taken) {
            echoOwed = true;
        }
    }

    /** Handles a SYN that arrives after the handshake. */
    void receivedLate(Packet syn) {
        accurate.receivedLate(syn);
    }

    /** Checks the connection when this end has nothing to send. */
    void settled(boolean established) {
        accurate.settled(established);
    }

    void sent(Packet p, boolean again, int payloadLength) {
        accurate.sent(p, again);
        if (accurate.isAgreed() && !p.has(Packet.SYN)) {
            return;
        }
        if (p.has(Packet.SYN)) {
            int wanted = p.has(Packet.ACK) ? Packet.ECE : SETUP;
            boolean setup = (p.flags & SETUP) == wanted;
            sentSetup |= setup;
            plainSyn |= !setup;
            agreed = sentSetup && receivedSetup;
            check(p.ecn == 0, "a SYN is not ECN-capable", p.toString());
            return;
        }
        check(p.ecn == 0 || agreed && !plainSyn, "ECN only as agreed", p.toString());
        check(p.ecn == 0 || payloadLength > 0 && !again, "only new data is ECN-capable", p.toString());
        check(!p.has(Packet.ECE) || agreed, "ECN-Echo only as agreed", p.toString());
        // An ACK of data received before the last change of the mark reports the earlier state.
        if (agreed && !plainSyn && exact && !unsure && p.has(Packet.ACK) && p.ack - lastSeq > 0) {
            check(p.has(Packet.ECE) == echoOwed, "DCTCP tells of each mark", p.toString());
        }
        if (agreed && !plainSyn && !exact && echoOwed && p.has(Packet.ACK)) {
            check(p.has(Packet.ECE), "a mark is echoed until CWR", p.toString());
        }
    }
}
