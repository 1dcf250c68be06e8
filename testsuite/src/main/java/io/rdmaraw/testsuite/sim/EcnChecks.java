package io.rdmaraw.testsuite.sim;

import static io.rdmaraw.testsuite.sim.SimulationFailure.check;

/**
 * RFC 3168 section 6.1: who may be marked, and that a mark is echoed until the sender says that it has reacted. Of
 * DCTCP, that it is echoed as long as marked data comes. Where both ends count, {@link AccurateEcnChecks} knows more.
 */
final class EcnChecks {
    private static final int SETUP = Packet.ECE | Packet.CWR;

    /** RFC 3168 section 6.1.1: one SYN or SYN-ACK that asks for it, each way, and marks are echoed. */
    private boolean sentSetup;
    private boolean receivedSetup;
    /** RFC 3168 section 6.1.1: one plain SYN, sent or received, and this end does without ECN. */
    private boolean plainSyn;
    private boolean agreed;
    private boolean echoOwed;
    /** RFC 8257 section 3.2: each acknowledgement tells of what it acknowledges. */
    private final boolean exact;
    /** Where the last data began that came. */
    private int lastSeq;
    /** The last data may have been taken or dropped: it came with an old acknowledgment or timestamp. */
    private boolean unsure;

    private final AccurateEcnChecks accurate;

    EcnChecks(CorePlan config) {
        exact = config.congestion.equals("dctcp");
        accurate = new AccurateEcnChecks(config.ecn, config.cookies);
    }

    /**
     * Something has come.
     *
     * @param taken        whether it brings data that was not there before and has to be taken
     * @param perhapsTaken whether that may be taken
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

    /** A SYN has come to an end that is past it. */
    void receivedLate(Packet syn) {
        accurate.receivedLate(syn);
    }

    /** This end has nothing to send. */
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
        // What came before a change is acknowledged as it was.
        if (agreed && !plainSyn && exact && !unsure && p.has(Packet.ACK) && p.ack - lastSeq > 0) {
            check(p.has(Packet.ECE) == echoOwed, "DCTCP tells of each mark", p.toString());
        }
        if (agreed && !plainSyn && !exact && echoOwed && p.has(Packet.ACK)) {
            check(p.has(Packet.ECE), "a mark is echoed until CWR", p.toString());
        }
    }
}
