package io.rdmaraw.tcp;

import io.rdmaraw.tcp.segment.Segment;
import io.rdmaraw.tcp.segment.Sequence;
import io.rdmaraw.tcp.segment.TcpFlags;
import io.rdmaraw.wire.SipHash;

/**
 * SYN cookies (RFC 4987 section 3.6). If the backlog is full, the sequence number of the SYN-ACK encodes the
 * state that the returning ACK needs to create the connection: 5 bits of time, 3 bits of MSS and 24 bits of keyed
 * hash. Window scale, SACK and classic ECN are encoded in the low bits of the timestamp; without timestamps they
 * are not used. Accurate ECN (RFC 9768) shows in the flags of the ACK.
 */
final class SynCookies {
    private static final long PERIOD_NANOS = 64_000_000_000L;
    private static final int MAX_AGE_PERIODS = 1;
    /** The peer's MSS is rounded down to a table entry. The first entry is the minimum of all configurations. */
    private static final int[] MSS_IPV4 = {48, 256, 536, 1220, 1360, 1400, 1440, 1460};
    private static final int[] MSS_IPV6 = {48, 536, 1220, 1280, 1360, 1400, 1420, 1440};
    private static final int OPTION_BITS = 6;
    private static final int NO_SCALE = 15;
    private static final long COOKIE_DOMAIN = 3;

    private final SipHash hash;

    SynCookies(SipHash hash) {
        this.hash = hash;
    }

    /** Returns how long a cookie is accepted. */
    static long lifetimeNanos() {
        return (MAX_AGE_PERIODS + 1) * PERIOD_NANOS;
    }

    /**
     * Returns the maximum age of the timestamp that the ACK of a cookie echoes. It exceeds the cookie's lifetime
     * because the timestamp was rounded down to encode options.
     */
    static long oldestEchoNanos() {
        return lifetimeNanos() + (1_000_000L << OPTION_BITS);
    }

    /** Returns whether an ACK echoes a timestamp at which a cookie that is still valid may have been sent. */
    static boolean isTimestampEchoValid(TcpEngine engine, Segment ack, long now) {
        int offset = engine.initialSequence.timestampOffset(ack.destinationHigh, ack.destinationLow, ack.sourceHigh,
                ack.sourceLow);
        int latest = (int) (now / 1_000_000) + offset;
        int earliest = (int) ((now - oldestEchoNanos()) / 1_000_000) + offset;
        return Sequence.afterOrAt(ack.tsEcho, earliest) && Sequence.beforeOrAt(ack.tsEcho, latest);
    }

    /** Returns the cookie that answers a SYN. */
    int cookie(Segment syn, long now) {
        int period = (int) (now / PERIOD_NANOS) & 31;
        int[] table = table(syn);
        int mssIndex = 0;
        while (mssIndex < 7 && table[mssIndex + 1] <= syn.mss) {
            mssIndex++;
        }
        return period << 27 | mssIndex << 24 | hash24(syn, syn.seq, period, mssIndex);
    }

    private static int[] table(Segment s) {
        return s.sourceHigh == 0 && s.sourceLow >>> 32 == 0xFFFF ? MSS_IPV4 : MSS_IPV6;
    }

    private int hash24(Segment s, int clientIsn, int period, int mssIndex) {
        long last = (long) clientIsn << 32 | period << 16 | mssIndex << 8 | COOKIE_DOMAIN;
        return (int) hash.hash(s.sourceHigh, s.sourceLow, s.destinationHigh, s.destinationLow,
                SipHash.ports(s.destinationPort, s.sourcePort), last) & 0xFFFFFF;
    }

    /** Returns whether the acknowledged number has the time bits of a recent cookie. The hash is not checked. */
    boolean isRecent(Segment ack, long now) {
        return ((int) (now / PERIOD_NANOS) - (ack.ack - 1 >>> 27) & 31) <= MAX_AGE_PERIODS;
    }

    /** Returns the MSS encoded in the cookie that an ACK returns, or 0 if the cookie is invalid or too old. */
    int mssOf(Segment ack, long now) {
        int cookie = ack.ack - 1;
        int period = cookie >>> 27;
        int age = (int) (now / PERIOD_NANOS) - period & 31;
        int mssIndex = cookie >>> 24 & 7;
        if (age > MAX_AGE_PERIODS || (cookie & 0xFFFFFF) != hash24(ack, ack.seq - 1, period, mssIndex)) {
            return 0;
        }
        return table(ack)[mssIndex];
    }

    /**
     * Returns our timestamp with the peer's options encoded in the low bits. It is rounded down, so it never lies
     * in the future.
     */
    static int timestampWith(Segment syn, TcpConfig config, int timestamp) {
        int scale = config.windowScaling && syn.windowScale != Segment.ABSENT ? Math.min(14, syn.windowScale)
                : NO_SCALE;
        int options = scale | (config.sack && syn.sackPermitted ? 16 : 0)
                | (Ecn.feedbackForSyn(config, syn) == Ecn.Feedback.CLASSIC ? 32 : 0);
        int value = timestamp >>> OPTION_BITS << OPTION_BITS | options;
        return Sequence.after(value, timestamp) ? value - (1 << OPTION_BITS) : value;
    }

    /** Reconstructs the SYN from the ACK that returns the cookie. */
    static void restoreSyn(Segment ack, Segment syn, int mss) {
        syn.copyHeader(ack);
        syn.flags = TcpFlags.SYN;
        syn.seq = ack.seq - 1;
        syn.mss = mss;
        syn.sackCount = 0;
        syn.windowScale = Segment.ABSENT;
        syn.sackPermitted = false;
        if (ack.timestamps) {
            int options = ack.tsEcho & (1 << OPTION_BITS) - 1;
            syn.windowScale = (options & 15) == NO_SCALE ? Segment.ABSENT : options & 15;
            syn.sackPermitted = (options & 16) != 0;
            syn.flags |= (options & 32) != 0 ? TcpFlags.ECE | TcpFlags.CWR : 0;
        }
        if (!Ecn.isEcnSetup(syn) && AccurateEcn.confirmsAccurateEcn(ack)) {
            // Only a server that supports accurate feedback can recognize it (RFC 9768 section 3.1.3).
            syn.flags |= TcpFlags.AE;
        }
    }
}
