package io.rdmaraw.testsuite.sim;

import static io.rdmaraw.testsuite.sim.SimulationFailure.check;

/**
 * RFC 9768, of an end that may count marks: what the handshake agrees to, and that every segment tells how many marked
 * ones have come, modulo 8.
 */
final class AccurateEcnChecks {
    private static final int ACE = Packet.AE | Packet.CWR | Packet.ECE;
    private static final int CLASSIC_SYN = 3;
    private static final int ALL = 7;
    private static final int WRAP = 8;
    /** Section 3.2.2.5.1: one more must be told at once. */
    private static final int MOST_UNTOLD = 2;

    private final boolean asks;
    private final boolean accepts;
    /** A cookie remembers nothing of the SYN: the acknowledgement tells (section 5.1). */
    private final boolean cookies;
    private boolean asked;
    private boolean wasAsked;
    private boolean decided;
    private boolean agreed;
    /** This end has sent the SYN-ACK. */
    private boolean isServer;
    /** A SYN without it has come, or a SYN-ACK without it was sent (section 3.1.5). */
    private boolean plain;
    /** IP-ECN of the latest SYN or SYN-ACK that has come. */
    private int handshakeEcn;
    private boolean handshakeAckOwed;
    private boolean handshakeAckAllowed;
    /** Marked segments that have come for certain, and perhaps: copies and the like may be taken or not. */
    private long least = 5;
    private long most = 5;
    private long told = 5;

    /** @param mode as in {@link CorePlan#ecn} */
    AccurateEcnChecks(int mode, boolean cookies) {
        asks = mode == 3;
        accepts = mode >= 3;
        this.cookies = cookies;
    }

    private static int ace(Packet p) {
        return (p.flags & ACE) >> 6;
    }

    private static boolean isPure(Packet p) {
        return p.payload.length == 0 && p.sack.length == 0;
    }

    /** Whether both ends count, for certain; else {@link EcnChecks} has its own rules. */
    boolean isAgreed() {
        return agreed;
    }

    private void decide(boolean yes) {
        agreed = decided ? agreed : yes;
        decided = true;
    }

    void received(Packet p, boolean taken) {
        int ace = ace(p);
        if (!p.has(Packet.SYN)) {
            if (!decided && cookies && p.has(Packet.ACK)) {
                decide(wasAsked && (isPure(p) ? ace >= 2 : p.has(Packet.AE)));
                isServer = true;
            }
            most += p.ecn == 3 ? 1 : 0;
            least += p.ecn == 3 && taken ? 1 : 0;
        } else if (p.has(Packet.ACK)) {
            handshakeEcn = p.ecn;
            handshakeAckOwed = asks && !decided;
            handshakeAckAllowed = true;
            decide(asks && asked && ace >= 2 && ace < ALL);
            most += p.ecn == 3 ? 1 : 0;
        } else {
            boolean wants = ace != 0 && ace != CLASSIC_SYN;
            handshakeEcn = p.ecn;
            plain |= ace == 0;
            wasAsked |= wants;
            if (!cookies || asked) {
                decide(wants && accepts && (asks || !asked));
            }
        }
    }

    /** A SYN has come to an end that is past it: section 3.2.2.1 wants a SYN-ACK answered as the first time. */
    void receivedLate(Packet syn) {
        handshakeAckAllowed |= syn.has(Packet.ACK);
        handshakeEcn = syn.ecn;
    }

    void sent(Packet p, boolean again) {
        int ace = ace(p);
        if (p.has(Packet.SYN) && !p.has(Packet.ACK)) {
            asked = true;
            check(asks ? ace == ALL || ace == 0 : !p.has(Packet.AE), "asks for accurate ECN as configured",
                    p.toString());
            return;
        }
        if (p.has(Packet.SYN)) {
            isServer = true;
            boolean may = cookies ? accepts && wasAsked : agreed;
            check(!may || ace == 0 || ace == handshakeCode(), "a SYN-ACK tells how the SYN came", p.toString());
            check(may || ace <= 1, "a SYN-ACK agrees to what was asked for", p.toString());
            plain |= ace == 0;
            return;
        }
        if (!agreed) {
            return;
        }
        check(p.ecn == 0 || p.payload.length > 0 && !again, "only new data is ECN-capable", p.toString());
        check(p.ecn == 0 || !isServer || !plain, "who may be taken for one without ECN sets no ECT", p.toString());
        if (handshakeAckOwed && !isServer) {
            handshakeAckOwed = false;
            check(isPure(p) && ace == handshakeCode(), "the SYN-ACK's ACK tells how that came", p.toString());
            return;
        }
        if (most - least >= WRAP) {
            told = least;
            return;
        }
        long count = least + (ace - least & WRAP - 1);
        if (count > most && handshakeAckAllowed && isPure(p) && ace == handshakeCode()) {
            return;
        }
        check(count <= most, "tells how many marks have come", p + ": " + least + ".." + most);
        least = count;
        most = count;
        told = count;
    }

    private int handshakeCode() {
        return switch (handshakeEcn) {
            case 1 -> 3;
            case 2 -> 4;
            case 3 -> 6;
            default -> 2;
        };
    }

    /** This end has nothing to send. */
    void settled(boolean established) {
        check(!agreed || !established || least - told <= MOST_UNTOLD, "marks are told in time",
                least - told + " are untold");
    }
}
