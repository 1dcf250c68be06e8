package io.rdmaraw.testsuite.sim;

import static io.rdmaraw.testsuite.sim.SimulationFailure.check;

/**
 * Checks the AccECN behaviour (RFC 9768) of one end: the handshake agrees to AccECN only as configured, the ACE
 * field of every segment reports the number of CE-marked segments received, modulo 8, and the option the payload
 * bytes received with each codepoint, modulo 2^24.
 */
final class AccurateEcnChecks {
    private static final int ACE = Packet.AE | Packet.CWR | Packet.ECE;
    private static final int CLASSIC_SYN = 3;
    private static final int ALL = 7;
    private static final int WRAP = 8;
    /** Number of CE marks that may be unreported. Section 3.2.2.5.1 requires an ACK for the next one. */
    private static final int MAX_UNREPORTED = 2;

    private final boolean asks;
    private final boolean accepts;
    /**
     * With SYN cookies, this end keeps no state of the SYN. It learns from the ACK of the SYN-ACK (section 5.1).
     */
    private final boolean cookies;
    private boolean asked;
    private boolean wasAsked;
    private boolean decided;
    private boolean agreed;
    /** Set once this end has sent a SYN-ACK. */
    private boolean isServer;
    /** Set once a SYN without AccECN has been received or a SYN-ACK without it has been sent (section 3.1.5). */
    private boolean plain;
    /** The IP-ECN field of the latest SYN or SYN-ACK received. */
    private int handshakeEcn;
    private boolean handshakeAckPending;
    private boolean handshakeAckAllowed;
    /**
     * Bounds of the number of CE marks that this end has counted. The two differ if segments have arrived that it
     * may either accept or drop, such as duplicates.
     */
    private long minCount = 5;
    private long maxCount = 5;
    private long reportedCount = 5;
    /** Bounds of the payload bytes counted, by codepoint. */
    private final long[] minBytes = {0, 1, 1, 0};
    private final long[] maxBytes = {0, 1, 1, 0};
    private boolean optionReceived;
    private boolean sackOffered;
    private boolean sackReceived;

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

    /** Returns whether both ends certainly use AccECN. Otherwise {@link EcnChecks} applies its own rules. */
    boolean isAgreed() {
        return agreed;
    }

    private void decide(boolean yes) {
        agreed = decided ? agreed : yes;
        decided = true;
    }

    void received(Packet p, boolean taken) {
        int ace = ace(p);
        optionReceived |= p.ecnBytes.length > 0;
        sackReceived |= p.sackPermitted;
        maxBytes[p.ecn] += p.payload.length;
        minBytes[p.ecn] += taken && !p.has(Packet.SYN) ? p.payload.length : 0;
        if (!p.has(Packet.SYN)) {
            if (!decided && cookies && p.has(Packet.ACK)) {
                decide(wasAsked && (isPure(p) ? ace >= 2 : p.has(Packet.AE)));
                isServer = true;
            }
            maxCount += p.ecn == 3 ? 1 : 0;
            minCount += p.ecn == 3 && taken ? 1 : 0;
        } else if (p.has(Packet.ACK)) {
            handshakeEcn = p.ecn;
            handshakeAckPending = asks && !decided;
            handshakeAckAllowed = true;
            decide(asks && asked && ace >= 2 && ace < ALL);
            maxCount += p.ecn == 3 ? 1 : 0;
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

    /**
     * Handles a SYN that arrives after the handshake. Section 3.2.2.1 requires a repeated SYN-ACK to be answered
     * like the first.
     */
    void receivedLate(Packet syn) {
        optionReceived |= syn.ecnBytes.length > 0;
        handshakeAckAllowed |= syn.has(Packet.ACK);
        handshakeEcn = syn.ecn;
    }

    void sent(Packet p, boolean again) {
        int ace = ace(p);
        sackOffered |= p.sackPermitted;
        checkOption(p);
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
        check(p.ecn == 0 || sackOffered && sackReceived || p.payload.length > 0 && !again,
                "without SACK, only new data is ECN-capable", p.toString());
        check(p.ecn == 0 || !isServer || !plain, "who may be taken for one without ECN sets no ECT", p.toString());
        if (handshakeAckPending && !isServer) {
            handshakeAckPending = false;
            check(isPure(p) && ace == handshakeCode(), "the SYN-ACK's ACK tells how that came", p.toString());
            return;
        }
        if (maxCount - minCount >= WRAP) {
            reportedCount = minCount;
            return;
        }
        long count = minCount + (ace - minCount & WRAP - 1);
        if (count > maxCount && handshakeAckAllowed && isPure(p) && ace == handshakeCode()) {
            return;
        }
        check(count <= maxCount, "tells how many marks have come", p + ": " + minCount + ".." + maxCount);
        minCount = count;
        maxCount = count;
        reportedCount = count;
    }

    /** Section 3.2.3: the option appears as agreed, and its counters are those of this end. */
    private void checkOption(Packet p) {
        if (p.ecnBytes.length == 0) {
            return;
        }
        boolean synAck = p.has(Packet.SYN) && p.has(Packet.ACK);
        check(synAck ? agreed || cookies && wasAsked : agreed && optionReceived, "the option as agreed", p.toString());
        for (int ecn = 1; ecn < p.ecnBytes.length; ecn++) {
            if (p.ecnBytes[ecn] < 0) {
                continue;
            }
            long bytes = synAck ? p.ecnBytes[ecn] : minBytes[ecn] + (p.ecnBytes[ecn] - minBytes[ecn] & 0xff_ffff);
            check(synAck ? bytes == (ecn == 3 ? 0 : 1) : bytes <= maxBytes[ecn], "tells how many bytes have come",
                    p + ": " + minBytes[ecn] + ".." + maxBytes[ecn] + " with " + ecn);
            minBytes[ecn] = synAck ? minBytes[ecn] : bytes;
            maxBytes[ecn] = synAck ? maxBytes[ecn] : bytes;
        }
    }

    private int handshakeCode() {
        return switch (handshakeEcn) {
            case 1 -> 3;
            case 2 -> 4;
            case 3 -> 6;
            default -> 2;
        };
    }

    /** Checks the connection when this end has nothing to send. */
    void settled(boolean established) {
        check(!agreed || !established || minCount - reportedCount <= MAX_UNREPORTED, "marks are reported in time",
                minCount - reportedCount + " are unreported");
    }
}
