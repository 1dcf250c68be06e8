package io.rdmaraw.tcp;

import io.rdmaraw.tcp.congestion.CongestionControl;
import io.rdmaraw.tcp.congestion.Cubic;
import io.rdmaraw.tcp.segment.Segment;

import java.util.Objects;
import java.util.function.IntSupplier;

/**
 * The settings of an engine; immutable, made by {@link #builder()}. Times are nanoseconds, sizes bytes. Most apply when
 * a connection is opened; some can be changed for a connection (see {@link TcpConnection}).
 */
public final class TcpConfig implements Cloneable {
    /** Use of ECN (RFC 3168), and of its accurate feedback (RFC 9768). */
    public enum EcnMode {
        /** Neither offered nor accepted. */
        OFF,
        /** Accepted when the peer offers it. */
        PASSIVE,
        /** Offered and accepted. */
        ACTIVE,
        /** Accurate feedback is offered and accepted, and RFC 3168's where a peer has no other. */
        ACCURATE,
        /** Either is accepted when the peer offers it. */
        ACCURATE_PASSIVE
    }

    /** Use of SYN cookies (RFC 4987). */
    public enum SynCookieMode {
        /** A SYN beyond the backlog is dropped. */
        NEVER,
        /** A SYN beyond the backlog is answered with a cookie. */
        ON_OVERFLOW,
        /** Every SYN is answered with a cookie. */
        ALWAYS
    }

    /** The most of {@link Builder#segmentationBytes}: an IP packet with its headers must not pass 65535 bytes. */
    public static final int MAX_SEGMENTATION_BYTES = 65_400;

    /** The defaults. */
    public static final TcpConfig DEFAULT = builder().build();

    int mtuBytes = 1500;
    int receiveBufferBytes = 256 * 1024;
    int maxReceiveBufferBytes;
    int maxOutOfOrderBytes = 1 << 20;
    boolean noDelay = true;
    boolean sack = true;
    boolean timestamps = true;
    boolean windowScaling = true;
    EcnMode ecn = EcnMode.PASSIVE;
    CongestionControl.Factory congestionControl = Cubic::new;
    boolean alternativeBackoff;
    boolean pacing;
    int initialWindowSegments = 10;
    long initialRtoNanos = 1_000_000_000L;
    long minRtoNanos = 200_000_000L;
    long maxRtoNanos = 120_000_000_000L;
    long delayedAckNanos = 40_000_000L;
    int synRetries = 6;
    int synAckRetries = 5;
    int retries = 15;
    int orphanRetries = 8;
    int pathRetries = 3;
    long keepAliveIdleNanos = 7_200_000_000_000L;
    long keepAliveIntervalNanos = 75_000_000_000L;
    int keepAliveProbes = 9;
    long userTimeoutNanos;
    long finWait2Nanos = 60_000_000_000L;
    long timeWaitNanos = 60_000_000_000L;
    int maxTimeWait = 1 << 18;
    boolean timeWaitReuse = true;
    boolean ignoreResetsInTimeWait;
    SynCookieMode synCookies = SynCookieMode.ON_OVERFLOW;
    long challengeAckIntervalNanos = 100_000_000L;
    int firstEphemeralPort = 32768;
    int lastEphemeralPort = 60999;
    long pathMtuAgeNanos = 600_000_000_000L;
    int minPathMtuBytes = 552;
    int blackHoleTimeouts = 3;
    int maxSlices = Segment.MAX_SLICES;
    int segmentationBytes;
    long fastOpenKeyHigh;
    long fastOpenKeyLow;
    TcpSecrets secrets;
    IntSupplier initialSequence;
    TcpLimits limits = TcpLimits.DEFAULT;

    /** Returns with how many bytes a receive buffer begins. */
    public int initialReceiveBufferBytes() {
        return receiveBufferBytes;
    }

    /** What a receive buffer may grow to. */
    int largestReceiveBufferBytes() {
        return Math.max(receiveBufferBytes, maxReceiveBufferBytes);
    }

    private TcpConfig() {
        // Made by the builder alone.
    }

    /** What a builder has made does not change when the builder goes on: only the builder writes fields. */
    private TcpConfig copy() {
        try {
            return (TcpConfig) clone();
        } catch (CloneNotSupportedException e) {
            throw new AssertionError(e);
        }
    }

    public static Builder builder() {
        return new Builder();
    }

    /** Returns a builder that starts from these settings. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.made = copy();
        return builder;
    }

    /** Collects settings; every one has a default. Numbers out of range are refused at once. */
    public static final class Builder {
        private TcpConfig made = new TcpConfig();

        private Builder() {
        }

        /** The largest IP packet the link takes, 576 to 65535, used where a connection is not given its own. */
        public Builder mtuBytes(int value) {
            made.mtuBytes = intInRange("mtuBytes", value, 576, 65535);
            return this;
        }

        /** How much a peer may send ahead of the reader; the receive window is what is left of it. */
        public Builder receiveBufferBytes(int value) {
            made.receiveBufferBytes = intInRange("receiveBufferBytes", value, 2048, 1 << 30);
            return this;
        }

        /**
         * How far a receive buffer grows by itself with what its user reads in a round trip (tcp_rmem of Linux), up to
         * 2^30; what lies below {@link #receiveBufferBytes}, as 0, the default, does, keeps the buffer as it is.
         */
        public Builder maxReceiveBufferBytes(int value) {
            made.maxReceiveBufferBytes = intInRange("maxReceiveBufferBytes", value, 0, 1 << 30);
            return this;
        }

        /**
         * Cap on the memory in which a connection holds out-of-order data; what exceeds it is dropped and counted. A
         * piece is charged the buffer that it lies in and {@value io.rdmaraw.tcp.Reassembly#OVERHEAD_BYTES} bytes for
         * its bookkeeping; pieces below 1 KiB are copied into small buffers. A connection whose receive buffer is
         * larger than configured may hold nine quarters of that buffer.
         */
        public Builder maxOutOfOrderBytes(int value) {
            made.maxOutOfOrderBytes = intInRange("maxOutOfOrderBytes", value, 0, 1 << 30);
            return this;
        }

        /**
         * Whether small segments go out at once (true) or wait for outstanding ones (Nagle, RFC 9293 section 3.7.4).
         */
        public Builder noDelay(boolean value) {
            made.noDelay = value;
            return this;
        }

        /** Whether SACK (RFC 2018) is offered and accepted. */
        public Builder sack(boolean value) {
            made.sack = value;
            return this;
        }

        /** Whether timestamps (RFC 7323) are offered and accepted. */
        public Builder timestamps(boolean value) {
            made.timestamps = value;
            return this;
        }

        /** Whether window scaling (RFC 7323) is offered and accepted. */
        public Builder windowScaling(boolean value) {
            made.windowScaling = value;
            return this;
        }

        /** Use of ECN (RFC 3168, RFC 9768). */
        public Builder ecn(EcnMode value) {
            made.ecn = Objects.requireNonNull(value, "ecn");
            return this;
        }

        /** Whether a mark costs less than a loss with Reno and CUBIC (RFC 8511). Default: no. */
        public Builder alternativeBackoff(boolean value) {
            made.alternativeBackoff = value;
            return this;
        }

        /** Makes the congestion control of each connection. */
        public Builder congestionControl(CongestionControl.Factory value) {
            made.congestionControl = Objects.requireNonNull(value, "congestionControl");
            return this;
        }

        /**
         * Whether data is paced with every congestion control: spread over the round trip, at 2 or, beyond slow start,
         * 1.2 windows in each, as Linux does below {@code fq}. One that measures rates paces in any case. Default: no.
         */
        public Builder pacing(boolean value) {
            made.pacing = value;
            return this;
        }

        /** Initial congestion window (RFC 6928). */
        public Builder initialWindowSegments(int value) {
            made.initialWindowSegments = intInRange("initialWindowSegments", value, 1, 100);
            return this;
        }

        /** Retransmission timeout before the first RTT sample (RFC 6298). */
        public Builder initialRtoNanos(long value) {
            made.initialRtoNanos = longInRange("initialRtoNanos", value, 1_000_000L, 60_000_000_000L);
            return this;
        }

        /**
         * How far the retransmission timeout lies above the smoothed round trip time at least (tcp_rto_min_us of
         * Linux), 1 ms to 60 s: as long as peers may delay an acknowledgement. Default 200 ms.
         */
        public Builder minRtoNanos(long value) {
            made.minRtoNanos = longInRange("minRtoNanos", value, 1_000_000L, 60_000_000_000L);
            return this;
        }

        /** Upper bound of the retransmission timeout and of the time between zero-window probes. */
        public Builder maxRtoNanos(long value) {
            made.maxRtoNanos = longInRange("maxRtoNanos", value, 1_000_000_000L, 600_000_000_000L);
            return this;
        }

        /** The longest an acknowledgement is delayed (RFC 9293 section 3.8.6.3). */
        public Builder delayedAckNanos(long value) {
            made.delayedAckNanos = longInRange("delayedAckNanos", value, 0, 500_000_000L);
            return this;
        }

        /** Retransmissions of a SYN before a connection attempt fails. */
        public Builder synRetries(int value) {
            made.synRetries = intInRange("synRetries", value, 0, 30);
            return this;
        }

        /** Retransmissions of a SYN-ACK before a half-open connection is forgotten. */
        public Builder synAckRetries(int value) {
            made.synAckRetries = intInRange("synAckRetries", value, 0, 30);
            return this;
        }

        /** Consecutive timeouts without progress before a connection fails (R2, RFC 9293 section 3.8.3). */
        public Builder retries(int value) {
            made.retries = intInRange("retries", value, 1, 60);
            return this;
        }

        /**
         * After how many timeouts without an answer {@link TcpEvents#pathSuspect} tells that the path may be wrong (R1
         * of RFC 9293 section 3.8.3, tcp_retries1 of Linux): 1 to 60, by default 3, as that section wants at least.
         */
        public Builder pathRetries(int value) {
            made.pathRetries = intInRange("pathRetries", value, 1, 60);
            return this;
        }

        /**
         * As {@code retries}, for connections the user has closed (tcp_orphan_retries of Linux): 1 to 60, by default
         * 8. Where the peer answers but keeps its window closed the connection ends as well, once the interval of the
         * probes has grown to {@link #maxRtoNanos} too: after 205 s with a timeout of 200 ms. Only data or a FIN that
         * the peer acknowledges begins that time anew.
         */
        public Builder orphanRetries(int value) {
            made.orphanRetries = intInRange("orphanRetries", value, 1, 60);
            return this;
        }

        /** Silence before the first keepalive probe. */
        public Builder keepAliveIdleNanos(long value) {
            made.keepAliveIdleNanos = longInRange("keepAliveIdleNanos", value, 1_000_000L, 1L << 60);
            return this;
        }

        /** Time between keepalive probes. */
        public Builder keepAliveIntervalNanos(long value) {
            made.keepAliveIntervalNanos = longInRange("keepAliveIntervalNanos", value, 1_000_000L, 1L << 60);
            return this;
        }

        /** Unanswered keepalive probes before a connection fails. */
        public Builder keepAliveProbes(int value) {
            made.keepAliveProbes = intInRange("keepAliveProbes", value, 1, 127);
            return this;
        }

        /**
         * How long what was sent may stay unacknowledged, or what is queued unsent, before a connection fails (RFC 9293
         * section 3.8.3, TCP_USER_TIMEOUT), in whole milliseconds. 0, the default: only the retries count.
         */
        public Builder userTimeoutNanos(long value) {
            made.userTimeoutNanos = longInRange("userTimeoutNanos", value, 0, TcpConnection.MAX_MILLIS * 1_000_000L);
            return this;
        }

        /** How long a connection the user has closed waits for the peer's FIN. */
        public Builder finWait2Nanos(long value) {
            made.finWait2Nanos = longInRange("finWait2Nanos", value, 1_000_000L, 1L << 60);
            return this;
        }

        /** Length of TIME-WAIT. */
        public Builder timeWaitNanos(long value) {
            made.timeWaitNanos = longInRange("timeWaitNanos", value, 0, 1L << 60);
            return this;
        }

        /** Connections in TIME-WAIT at most; beyond it the oldest is forgotten and counted. */
        public Builder maxTimeWait(int value) {
            made.maxTimeWait = intInRange("maxTimeWait", value, 1, 1 << 26);
            return this;
        }

        /**
         * Whether an active open may take the 4-tuple of a connection in TIME-WAIT that used timestamps and has been
         * there for a second (tcp_tw_reuse of Linux): PAWS then tells the segments of the two apart. Ports that are
         * free altogether are chosen before. Default true.
         */
        public Builder timeWaitReuse(boolean value) {
            made.timeWaitReuse = value;
            return this;
        }

        /**
         * Whether TIME-WAIT lasts until its time is up, whatever RST comes (tcp_rfc1337 of Linux; fix F1 of RFC 1337).
         * An old duplicate of the peer's data is answered, and a peer that has forgotten the connection answers that
         * with a RST which is exact. On the other hand a peer whose SYN meets a TIME-WAIT with later numbers clears
         * it by such a RST, and waits for up to a minute where it may not. Default false, as on Linux.
         */
        public Builder ignoreResetsInTimeWait(boolean value) {
            made.ignoreResetsInTimeWait = value;
            return this;
        }

        /** When SYN cookies (RFC 4987) are used. */
        public Builder synCookies(SynCookieMode value) {
            made.synCookies = Objects.requireNonNull(value, "synCookies");
            return this;
        }

        /** Shortest time between challenge ACKs of a connection (RFC 5961 section 7). */
        public Builder challengeAckIntervalNanos(long value) {
            made.challengeAckIntervalNanos = longInRange("challengeAckIntervalNanos", value, 0, 10_000_000_000L);
            return this;
        }

        /** Lower end of the ports chosen for active opens. */
        public Builder firstEphemeralPort(int value) {
            made.firstEphemeralPort = intInRange("firstEphemeralPort", value, 1, 65535);
            return this;
        }

        /** Upper end of the ports chosen for active opens, inclusive. */
        public Builder lastEphemeralPort(int value) {
            made.lastEphemeralPort = intInRange("lastEphemeralPort", value, 1, 65535);
            return this;
        }

        /** How long a smaller path MTU is believed before a larger one is tried (RFC 1191 section 6.3). */
        public Builder pathMtuAgeNanos(long value) {
            made.pathMtuAgeNanos = longInRange("pathMtuAgeNanos", value, 1_000_000_000L, 1L << 60);
            return this;
        }

        /**
         * The least MTU in bytes that a path over IPv4 is taken to have, whatever routers say (min_pmtu of Linux), 68
         * to 1280. An ICMP message that cannot be checked makes segments no smaller than that. Default 552. Over IPv6
         * it is 1280 (RFC 8201).
         */
        public Builder minPathMtuBytes(int value) {
            made.minPathMtuBytes = intInRange("minPathMtuBytes", value, 68, 1280);
            return this;
        }

        /**
         * After how many timeouts in a row of the same large segment the path is suspected of dropping large packets in
         * silence (RFC 2923 section 2.1), so that smaller ones are sent; 0 for never. Loss alone can look the same:
         * then a large segment that goes through, of a few that try it, ends the suspicion.
         */
        public Builder blackHoleTimeouts(int value) {
            made.blackHoleTimeouts = intInRange("blackHoleTimeouts", value, 0, 15);
            return this;
        }

        /** Payload slices per segment at most: the scatter-gather entries a device takes, less those of the headers. */
        public Builder maxSlices(int value) {
            made.maxSlices = intInRange("maxSlices", value, 1, Segment.MAX_SLICES);
            return this;
        }

        /**
         * Payload of one polled segment at most, where the device cuts it into TCP segments of
         * {@link Segment#segmentSizeBytes()} (TSO), up to {@value #MAX_SEGMENTATION_BYTES}. 0, the default: the device
         * does not, and every polled segment is one on the wire. Retransmissions are never cut.
         */
        public Builder segmentationBytes(int value) {
            made.segmentationBytes = intInRange("segmentationBytes", value, 0, MAX_SEGMENTATION_BYTES);
            return this;
        }

        /**
         * The secret that fast open cookies (RFC 7413) are made with. Engines that serve one port, such as the loops of
         * a group, should share it: a client's next SYN may reach another of them. 0, 0, the default: each engine has
         * one of its own.
         */
        public Builder fastOpenKey(long high, long low) {
            made.fastOpenKeyHigh = high;
            made.fastOpenKeyLow = low;
            return this;
        }

        /**
         * The keys of the host that the engine is a part of. Engines that have an address in common, such as the loops
         * of a process, should share them. Null, the default: the engine makes its own.
         */
        public Builder secrets(TcpSecrets value) {
            made.secrets = value;
            return this;
        }

        /**
         * For tests and simulations: initial sequence numbers from here rather than by RFC 6528. Default null. Set
         * in production, it opens connections to blind attacks.
         */
        public Builder initialSequence(IntSupplier source) {
            made.initialSequence = source;
            return this;
        }

        /** What the peers of the engine can make it hold and do, at most. */
        public Builder limits(TcpLimits value) {
            made.limits = Objects.requireNonNull(value, "limits");
            return this;
        }

        /**
         * Builds the configuration.
         *
         * @throws IllegalArgumentException if settings contradict each other
         */
        public TcpConfig build() {
            if (made.firstEphemeralPort > made.lastEphemeralPort) {
                throw new IllegalArgumentException("firstEphemeralPort " + made.firstEphemeralPort
                        + " lies above lastEphemeralPort " + made.lastEphemeralPort + "; swap them");
            }
            if (made.minRtoNanos > made.maxRtoNanos) {
                throw new IllegalArgumentException("minRtoNanos " + made.minRtoNanos + " lies above maxRtoNanos "
                        + made.maxRtoNanos + "; lower it");
            }
            return made.copy();
        }

        private static int intInRange(String name, int value, int low, int high) {
            return (int) inRange(name, value, low, high);
        }

        private static long longInRange(String name, long value, long low, long high) {
            return inRange(name, value, low, high);
        }
    }

    static long inRange(String name, long value, long low, long high) {
        if (value < low || value > high) {
            throw new IllegalArgumentException(name + " is " + value + "; it must lie in " + low + ".." + high);
        }
        return value;
    }
}
