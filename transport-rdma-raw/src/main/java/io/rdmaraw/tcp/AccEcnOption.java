package io.rdmaraw.tcp;

import io.rdmaraw.tcp.segment.Segment;
import io.rdmaraw.tcp.segment.Sequence;
import io.rdmaraw.wire.TcpOptions;

/**
 * The AccECN option (RFC 9768 section 3.2.3). Each end counts the received payload bytes by their IP-ECN codepoint
 * and reports the counts modulo 2^24. Segments carry the option once the peer has sent one, as far as there is room.
 */
final class AccEcnOption {
    /** Return value of {@link #onAck}: the segment has no usable count of marked bytes. */
    static final int NO_REPORT = -1;

    private static final int OPTIONS_BYTES = 40;
    private static final int ALL_COUNTERS = TcpOptions.ACC_ECN_ECT1 | TcpOptions.ACC_ECN_CE | TcpOptions.ACC_ECN_ECT0;
    private static final int ECT1_AND_CE = TcpOptions.ACC_ECN_ECT1 | TcpOptions.ACC_ECN_CE;
    private static final int ECT0_AND_CE = TcpOptions.ACC_ECN_ECT0 | TcpOptions.ACC_ECN_CE;
    /** Length with all three counters, including padding. */
    private static final int FULL_BYTES = 12;
    /** Length with the counters of CE and one ECT codepoint. */
    private static final int TWO_COUNTERS_BYTES = 8;
    /** SACK blocks that the option never displaces. */
    private static final int MIN_SACK_BLOCKS = 2;
    private static final int SACK_OPTION_BASE_BYTES = 4;
    private static final int SACK_BLOCK_BYTES = 8;
    /** Initial value of the counters of ECT(0) and ECT(1). It is not 0, so that a path that clears them is detected. */
    private static final int INITIAL_ECT_BYTES = 1;
    private static final int COUNTER_BITS = 24;
    /** If more bytes are acknowledged before the first option arrives, its counters may have wrapped. */
    private static final int MAX_BYTES_BEFORE_FIRST = (1 << COUNTER_BITS - 1) - 1;
    /** Limit of {@link #untakenBytes}. No more data can be in flight. */
    private static final int MAX_UNTAKEN_BYTES = 1 << 30;

    // ---- the receiver ----

    private int receivedEct1Bytes = INITIAL_ECT_BYTES;
    private int receivedCeBytes;
    private int receivedEct0Bytes = INITIAL_ECT_BYTES;
    /** Counters that have grown since the last option: {@code ACC_ECN_*} bits. */
    private byte due;
    /** The peer has sent the option, so it supports it and the path passes it. */
    private boolean peerSends;
    /** Options may not be sent: the configuration disables them, or the path drops segments that carry them. */
    private boolean disabled;
    /** The last segment sent had the option. */
    private boolean sent;

    // ---- the sender ----

    /** An option with counters has arrived. */
    private boolean countersSeen;
    /** The peer's counters are not reliable and are ignored (sections 3.2.3.2.3 and 3.2.3.2.4). */
    private boolean ignored;
    /** The peer's last count of bytes received with CE. */
    private int echoedCeBytes;
    /**
     * Reported marked bytes not yet returned by {@link #takeMarkedBytes}. Negative if estimates exceeded the reports.
     */
    private int untakenBytes;

    AccEcnOption(boolean enabled) {
        disabled = !enabled;
    }

    // ---- counting and sending (section 3.2.3.3) ----

    /** Counts the payload of an acceptable segment. */
    void count(Segment s) {
        if (s.payloadLength == 0 || s.ecn == Segment.ECN_NOT_ECT) {
            return;
        }
        switch (s.ecn) {
            case Segment.ECN_ECT1 -> {
                receivedEct1Bytes += s.payloadLength;
                due |= TcpOptions.ACC_ECN_ECT1;
            }
            case Segment.ECN_CE -> {
                receivedCeBytes += s.payloadLength;
                due |= TcpOptions.ACC_ECN_CE;
            }
            default -> {
                receivedEct0Bytes += s.payloadLength;
                due |= TcpOptions.ACC_ECN_ECT0;
            }
        }
    }

    /** Returns the option state if this connection's segments carry the option, otherwise null. */
    static AccEcnOption sentBy(TcpConnection c) {
        AccurateEcn a = AccurateEcn.of(c);
        return a != null && a.option.peerSends && !a.option.disabled ? a.option : null;
    }

    /** Returns the length of a SACK option including padding. */
    static int sackOptionBytes(int blocks) {
        return blocks == 0 ? 0 : SACK_OPTION_BASE_BYTES + SACK_BLOCK_BYTES * blocks;
    }

    /**
     * Returns how many of {@code blocks} SACK blocks to send. The option displaces blocks only to report a counter
     * that has grown, and leaves at least two (section 3.2.3.3).
     */
    int sackBlocks(int blocks, boolean timestamps) {
        for (int count = blocks; count >= Math.min(blocks, MIN_SACK_BLOCKS); count--) {
            if (room(count, timestamps) >= dueBytes()) {
                return count;
            }
        }
        return blocks;
    }

    /** Returns the length of an option with all counters that have grown since the last option; 0 if none has. */
    private int dueBytes() {
        return due == 0 ? 0 : (due & ~ECT0_AND_CE) != 0 && (due & ~ECT1_AND_CE) != 0 ? FULL_BYTES : TWO_COUNTERS_BYTES;
    }

    /** Returns the length of the option beside that many SACK blocks; 0 if it does not fit. */
    int lengthBytes(int sackBlocks, boolean timestamps) {
        int room = room(sackBlocks, timestamps);
        return room >= FULL_BYTES ? FULL_BYTES
                : room >= TWO_COUNTERS_BYTES && dueBytes() <= TWO_COUNTERS_BYTES ? TWO_COUNTERS_BYTES : 0;
    }

    private static int room(int sackBlocks, boolean timestamps) {
        return OPTIONS_BYTES - (timestamps ? Handshake.TIMESTAMPS_OPTION_BYTES : 0) - sackOptionBytes(sackBlocks);
    }

    /** Writes the option into a segment that has room for {@code lengthBytes}. */
    void write(Segment out, int lengthBytes) {
        sent = lengthBytes > 0;
        if (!sent) {
            return;
        }
        int counters = lengthBytes == FULL_BYTES ? ALL_COUNTERS
                : (due & TcpOptions.ACC_ECN_ECT0) != 0 ? ECT0_AND_CE : ECT1_AND_CE;
        due = 0;
        out.accEcn(counters, receivedEct1Bytes, receivedCeBytes, receivedEct0Bytes);
    }

    /** Adds the option with initial counters to a SYN-ACK, behind its other options (section 3.2.3.2.1). */
    static void writeInitial(Segment synAck) {
        int room = OPTIONS_BYTES - synAck.optionsLengthBytes();
        if (room >= TWO_COUNTERS_BYTES) {
            synAck.accEcn(room >= FULL_BYTES ? ALL_COUNTERS : ECT1_AND_CE, INITIAL_ECT_BYTES, 0, INITIAL_ECT_BYTES);
        }
    }

    /**
     * Handles the loss of the last segment sent. If it had the option, the option is disabled, because the path may
     * drop it (section 3.2.3.2.2).
     */
    void onAckLost() {
        disabled |= sent;
    }

    // ---- the sender (section 3.2.3.2) ----

    /** Records the first option and validates its first counters. */
    void detect(TcpConnection c, Segment s) {
        if (s.accEcnCounters == Segment.ABSENT) {
            ignored |= !peerSends && Sequence.after(c.sndUna, c.iss + MAX_BYTES_BEFORE_FIRST);
            return;
        }
        peerSends = true;
        if (!countersSeen && s.accEcnCounters != 0) {
            countersSeen = true;
            // Section 3.2.3.2.4: the path has cleared a counter that does not begin with 0.
            ignored |= isZero(s, TcpOptions.ACC_ECN_ECT1, s.accEcnEct1Bytes)
                    || isZero(s, TcpOptions.ACC_ECN_ECT0, s.accEcnEct0Bytes);
        }
    }

    private static boolean isZero(Segment s, int counter, int bytes) {
        return (s.accEcnCounters & counter) != 0 && bytes == 0;
    }

    /** Returns by how much the peer's count of marked bytes has grown, or {@link #NO_REPORT}. */
    int onAck(Segment s) {
        if (ignored || s.accEcnCounters == Segment.ABSENT || (s.accEcnCounters & TcpOptions.ACC_ECN_CE) == 0) {
            return NO_REPORT;
        }
        int unused = Integer.SIZE - COUNTER_BITS;
        int growth = s.accEcnCeBytes - echoedCeBytes << unused >> unused;
        if (growth < 0) {
            return NO_REPORT;
        }
        echoedCeBytes += growth;
        untakenBytes = Math.min(untakenBytes + growth, MAX_UNTAKEN_BYTES);
        return growth;
    }

    /**
     * Returns the newly marked bytes: the report, or the estimate without one. Estimates are deducted from later
     * reports.
     */
    int takeMarkedBytes(boolean reported, int estimate) {
        int bytes = reported ? Math.max(0, untakenBytes) : estimate;
        untakenBytes = Math.max(untakenBytes - bytes, -MAX_UNTAKEN_BYTES);
        return bytes;
    }
}
