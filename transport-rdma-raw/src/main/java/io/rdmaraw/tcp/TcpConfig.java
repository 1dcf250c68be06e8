package io.rdmaraw.tcp;

import java.util.Objects;
import java.util.function.IntSupplier;

/**
 * The settings of an engine; immutable, made by {@link #builder()}. Times are nanoseconds, sizes bytes. Most apply when
 * a connection is opened; some can be changed for a connection (see {@link TcpConnection}).
 */
public final class TcpConfig {
    /** Use of ECN (RFC 3168). */
    public enum EcnMode {
        /** Neither offered nor accepted. */
        OFF,
        /** Accepted when the peer offers it. */
        PASSIVE,
        /** Offered and accepted. */
        ACTIVE
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

    final int mtuBytes;
    final int receiveBufferBytes;
    final int maxReceiveBufferBytes;
    final int maxOutOfOrderBytes;
    final boolean noDelay;
    final boolean sack;
    final boolean timestamps;
    final boolean windowScaling;
    final EcnMode ecn;
    final CongestionControl.Factory congestionControl;
    final int initialWindowSegments;
    final long initialRtoNanos;
    final long minRtoNanos;
    final long maxRtoNanos;
    final long delayedAckNanos;
    final int synRetries;
    final int synAckRetries;
    final int retries;
    final int orphanRetries;
    final int pathRetries;
    final long keepAliveIdleNanos;
    final long keepAliveIntervalNanos;
    final int keepAliveProbes;
    final long userTimeoutNanos;
    final long finWait2Nanos;
    final long timeWaitNanos;
    final int maxTimeWait;
    final boolean timeWaitReuse;
    final boolean ignoreResetsInTimeWait;
    final SynCookieMode synCookies;
    final long challengeAckIntervalNanos;
    final int firstEphemeralPort;
    final int lastEphemeralPort;
    final long pathMtuAgeNanos;
    final int minPathMtuBytes;
    final int blackHoleTimeouts;
    final int maxSlices;
    final int segmentationBytes;
    final long fastOpenKeyHigh;
    final long fastOpenKeyLow;
    final TcpSecrets secrets;
    final IntSupplier initialSequence;
    final TcpLimits limits;

    private TcpConfig(Builder builder) {
        mtuBytes = builder.mtuBytes;
        receiveBufferBytes = builder.receiveBufferBytes;
        maxReceiveBufferBytes = builder.maxReceiveBufferBytes;
        maxOutOfOrderBytes = builder.maxOutOfOrderBytes;
        noDelay = builder.noDelay;
        sack = builder.sack;
        timestamps = builder.timestamps;
        windowScaling = builder.windowScaling;
        ecn = builder.ecn;
        congestionControl = builder.congestionControl;
        initialWindowSegments = builder.initialWindowSegments;
        initialRtoNanos = builder.initialRtoNanos;
        minRtoNanos = builder.minRtoNanos;
        maxRtoNanos = builder.maxRtoNanos;
        delayedAckNanos = builder.delayedAckNanos;
        synRetries = builder.synRetries;
        synAckRetries = builder.synAckRetries;
        retries = builder.retries;
        orphanRetries = builder.orphanRetries;
        pathRetries = builder.pathRetries;
        keepAliveIdleNanos = builder.keepAliveIdleNanos;
        keepAliveIntervalNanos = builder.keepAliveIntervalNanos;
        keepAliveProbes = builder.keepAliveProbes;
        userTimeoutNanos = builder.userTimeoutNanos;
        finWait2Nanos = builder.finWait2Nanos;
        timeWaitNanos = builder.timeWaitNanos;
        maxTimeWait = builder.maxTimeWait;
        timeWaitReuse = builder.timeWaitReuse;
        ignoreResetsInTimeWait = builder.ignoreResetsInTimeWait;
        synCookies = builder.synCookies;
        challengeAckIntervalNanos = builder.challengeAckIntervalNanos;
        firstEphemeralPort = builder.firstEphemeralPort;
        lastEphemeralPort = builder.lastEphemeralPort;
        pathMtuAgeNanos = builder.pathMtuAgeNanos;
        minPathMtuBytes = builder.minPathMtuBytes;
        blackHoleTimeouts = builder.blackHoleTimeouts;
        maxSlices = builder.maxSlices;
        segmentationBytes = builder.segmentationBytes;
        fastOpenKeyHigh = builder.fastOpenKeyHigh;
        fastOpenKeyLow = builder.fastOpenKeyLow;
        secrets = builder.secrets;
        initialSequence = builder.initialSequence;
        limits = builder.limits;
    }

    /** What a receive buffer may grow to. */
    int largestReceiveBufferBytes() {
        return Math.max(receiveBufferBytes, maxReceiveBufferBytes);
    }

    public static Builder builder() {
        return new Builder();
    }

    /** Collects settings; every one has a default. Numbers out of range are refused at once. */
    public static final class Builder {
        private int mtuBytes = 1500;
        private int receiveBufferBytes = 256 * 1024;
        private int maxReceiveBufferBytes;
        private int maxOutOfOrderBytes = 1 << 20;
        private boolean noDelay = true;
        private boolean sack = true;
        private boolean timestamps = true;
        private boolean windowScaling = true;
        private EcnMode ecn = EcnMode.PASSIVE;
        private CongestionControl.Factory congestionControl = Cubic::new;
        private int initialWindowSegments = 10;
        private long initialRtoNanos = 1_000_000_000L;
        private long minRtoNanos = 200_000_000L;
        private long maxRtoNanos = 120_000_000_000L;
        private long delayedAckNanos = 40_000_000L;
        private int synRetries = 6;
        private int synAckRetries = 5;
        private int retries = 15;
        private int orphanRetries = 8;
        private int pathRetries = 3;
        private long keepAliveIdleNanos = 7_200_000_000_000L;
        private long keepAliveIntervalNanos = 75_000_000_000L;
        private int keepAliveProbes = 9;
        private long userTimeoutNanos;
        private long finWait2Nanos = 60_000_000_000L;
        private long timeWaitNanos = 60_000_000_000L;
        private int maxTimeWait = 1 << 18;
        private boolean timeWaitReuse = true;
        private boolean ignoreResetsInTimeWait;
        private SynCookieMode synCookies = SynCookieMode.ON_OVERFLOW;
        private long challengeAckIntervalNanos = 100_000_000L;
        private int firstEphemeralPort = 32768;
        private int lastEphemeralPort = 60999;
        private long pathMtuAgeNanos = 600_000_000_000L;
        private int minPathMtuBytes = 552;
        private int blackHoleTimeouts = 3;
        private int maxSlices = Segment.MAX_SLICES;
        private int segmentationBytes;
        private long fastOpenKeyHigh;
        private long fastOpenKeyLow;
        private TcpSecrets secrets;
        private IntSupplier initialSequence;
        private TcpLimits limits = TcpLimits.DEFAULT;

        private Builder() {
        }

        /**
         * The largest IP packet the link takes, 576 to 65535, used where a connection is not given its own.
         */
        public Builder mtuBytes(int value) {
            mtuBytes = intInRange("mtuBytes", value, 576, 65535);
            return this;
        }

        /**
         * How much a peer may send ahead of the reader; the receive window is what is left of it.
         */
        public Builder receiveBufferBytes(int value) {
            receiveBufferBytes = intInRange("receiveBufferBytes", value, 2048, 1 << 30);
            return this;
        }

        /**
         * How far a receive buffer grows by itself with what its user reads in a round trip (tcp_rmem of Linux), up to
         * 2^30; what lies below {@link #receiveBufferBytes}, as 0, the default, does, keeps the buffer as it is.
         */
        public Builder maxReceiveBufferBytes(int value) {
            maxReceiveBufferBytes = intInRange("maxReceiveBufferBytes", value, 0, 1 << 30);
            return this;
        }

        /**
         * Cap on the memory in which a connection holds out-of-order data; what exceeds it is dropped and counted. A
         * piece is charged the buffer that it lies in and {@value io.rdmaraw.tcp.Reassembly#OVERHEAD_BYTES} bytes for
         * its bookkeeping; pieces below 1 KiB are copied into small buffers. A connection whose receive buffer is
         * larger than configured may hold nine quarters of that buffer.
         */
        public Builder maxOutOfOrderBytes(int value) {
            maxOutOfOrderBytes = intInRange("maxOutOfOrderBytes", value, 0, 1 << 30);
            return this;
        }

        /**
         * Whether small segments go out at once (true) or wait for outstanding ones (Nagle, RFC 9293 section 3.7.4).
         */
        public Builder noDelay(boolean value) {
            noDelay = value;
            return this;
        }

        /**
         * Whether SACK (RFC 2018) is offered and accepted.
         */
        public Builder sack(boolean value) {
            sack = value;
            return this;
        }

        /**
         * Whether timestamps (RFC 7323) are offered and accepted.
         */
        public Builder timestamps(boolean value) {
            timestamps = value;
            return this;
        }

        /**
         * Whether window scaling (RFC 7323) is offered and accepted.
         */
        public Builder windowScaling(boolean value) {
            windowScaling = value;
            return this;
        }

        /**
         * Use of ECN (RFC 3168).
         */
        public Builder ecn(EcnMode value) {
            ecn = Objects.requireNonNull(value, "ecn");
            return this;
        }

        /**
         * Makes the congestion control of each connection.
         */
        public Builder congestionControl(CongestionControl.Factory value) {
            congestionControl = Objects.requireNonNull(value, "congestionControl");
            return this;
        }

        /**
         * Initial congestion window (RFC 6928).
         */
        public Builder initialWindowSegments(int value) {
            initialWindowSegments = intInRange("initialWindowSegments", value, 1, 100);
            return this;
        }

        /**
         * Retransmission timeout before the first RTT sample (RFC 6298).
         */
        public Builder initialRtoNanos(long value) {
            initialRtoNanos = longInRange("initialRtoNanos", value, 1_000_000L, 60_000_000_000L);
            return this;
        }

        /**
         * How far the retransmission timeout lies above the smoothed round trip time at least (tcp_rto_min_us of
         * Linux), 1 ms to 60 s: as long as peers may delay an acknowledgement. Default 200 ms.
         */
        public Builder minRtoNanos(long value) {
            minRtoNanos = longInRange("minRtoNanos", value, 1_000_000L, 60_000_000_000L);
            return this;
        }

        /**
         * Upper bound of the retransmission timeout and of the time between zero-window probes.
         */
        public Builder maxRtoNanos(long value) {
            maxRtoNanos = longInRange("maxRtoNanos", value, 1_000_000_000L, 600_000_000_000L);
            return this;
        }

        /**
         * The longest an acknowledgement is delayed (RFC 9293 section 3.8.6.3).
         */
        public Builder delayedAckNanos(long value) {
            delayedAckNanos = longInRange("delayedAckNanos", value, 0, 500_000_000L);
            return this;
        }

        /**
         * Retransmissions of a SYN before a connection attempt fails.
         */
        public Builder synRetries(int value) {
            synRetries = intInRange("synRetries", value, 0, 30);
            return this;
        }

        /**
         * Retransmissions of a SYN-ACK before a half-open connection is forgotten.
         */
        public Builder synAckRetries(int value) {
            synAckRetries = intInRange("synAckRetries", value, 0, 30);
            return this;
        }

        /**
         * Consecutive timeouts without progress before a connection fails (R2, RFC 9293 section 3.8.3).
         */
        public Builder retries(int value) {
            retries = intInRange("retries", value, 1, 60);
            return this;
        }

        /**
         * After how many timeouts without an answer {@link TcpEvents#pathSuspect} tells that the path may be wrong (R1
         * of RFC 9293 section 3.8.3, tcp_retries1 of Linux): 1 to 60, by default 3, as that section wants at least.
         */
        public Builder pathRetries(int value) {
            pathRetries = intInRange("pathRetries", value, 1, 60);
            return this;
        }

        /**
         * As {@code retries}, for connections the user has closed (tcp_orphan_retries of Linux): 1 to 60, by default
         * 8. Where the peer answers but keeps its window closed the connection ends as well, once the interval of the
         * probes has grown to {@link #maxRtoNanos} too: after 205 s with a timeout of 200 ms. Only data or a FIN that
         * the peer acknowledges begins that time anew.
         */
        public Builder orphanRetries(int value) {
            orphanRetries = intInRange("orphanRetries", value, 1, 60);
            return this;
        }

        /**
         * Silence before the first keepalive probe.
         */
        public Builder keepAliveIdleNanos(long value) {
            keepAliveIdleNanos = longInRange("keepAliveIdleNanos", value, 1_000_000L, 1L << 60);
            return this;
        }

        /**
         * Time between keepalive probes.
         */
        public Builder keepAliveIntervalNanos(long value) {
            keepAliveIntervalNanos = longInRange("keepAliveIntervalNanos", value, 1_000_000L, 1L << 60);
            return this;
        }

        /**
         * Unanswered keepalive probes before a connection fails.
         */
        public Builder keepAliveProbes(int value) {
            keepAliveProbes = intInRange("keepAliveProbes", value, 1, 127);
            return this;
        }

        /**
         * How long what was sent may stay unacknowledged, or what is queued unsent, before a connection fails (RFC 9293
         * section 3.8.3, TCP_USER_TIMEOUT), in whole milliseconds. 0, the default: only the retries count.
         */
        public Builder userTimeoutNanos(long value) {
            userTimeoutNanos = longInRange("userTimeoutNanos", value, 0, TcpConnection.MAX_MILLIS * 1_000_000L);
            return this;
        }

        /**
         * How long a connection the user has closed waits for the peer's FIN.
         */
        public Builder finWait2Nanos(long value) {
            finWait2Nanos = longInRange("finWait2Nanos", value, 1_000_000L, 1L << 60);
            return this;
        }

        /**
         * Length of TIME-WAIT.
         */
        public Builder timeWaitNanos(long value) {
            timeWaitNanos = longInRange("timeWaitNanos", value, 0, 1L << 60);
            return this;
        }

        /**
         * Connections in TIME-WAIT at most; beyond it the oldest is forgotten and counted.
         */
        public Builder maxTimeWait(int value) {
            maxTimeWait = intInRange("maxTimeWait", value, 1, 1 << 26);
            return this;
        }

        /**
         * Whether an active open may take the 4-tuple of a connection in TIME-WAIT that used timestamps and has been
         * there for a second (tcp_tw_reuse of Linux): PAWS then tells the segments of the two apart. Ports that are
         * free altogether are chosen before. Default true.
         */
        public Builder timeWaitReuse(boolean value) {
            timeWaitReuse = value;
            return this;
        }

        /**
         * Whether TIME-WAIT lasts until its time is up, whatever RST comes (tcp_rfc1337 of Linux; fix F1 of RFC 1337).
         * An old duplicate of the peer's data is answered, and a peer that has forgotten the connection answers that
         * with a RST which is exact. On the other hand a peer whose SYN meets a TIME-WAIT with later numbers clears
         * it by such a RST, and waits for up to a minute where it may not. Default false, as on Linux.
         */
        public Builder ignoreResetsInTimeWait(boolean value) {
            ignoreResetsInTimeWait = value;
            return this;
        }

        /**
         * When SYN cookies (RFC 4987) are used.
         */
        public Builder synCookies(SynCookieMode value) {
            synCookies = Objects.requireNonNull(value, "synCookies");
            return this;
        }

        /**
         * Shortest time between challenge ACKs of a connection (RFC 5961 section 7).
         */
        public Builder challengeAckIntervalNanos(long value) {
            challengeAckIntervalNanos = longInRange("challengeAckIntervalNanos", value, 0, 10_000_000_000L);
            return this;
        }

        /**
         * Lower end of the ports chosen for active opens.
         */
        public Builder firstEphemeralPort(int value) {
            firstEphemeralPort = intInRange("firstEphemeralPort", value, 1, 65535);
            return this;
        }

        /**
         * Upper end of the ports chosen for active opens, inclusive.
         */
        public Builder lastEphemeralPort(int value) {
            lastEphemeralPort = intInRange("lastEphemeralPort", value, 1, 65535);
            return this;
        }

        /**
         * How long a smaller path MTU is believed before a larger one is tried (RFC 1191 section 6.3).
         */
        public Builder pathMtuAgeNanos(long value) {
            pathMtuAgeNanos = longInRange("pathMtuAgeNanos", value, 1_000_000_000L, 1L << 60);
            return this;
        }

        /**
         * The least MTU in bytes that a path over IPv4 is taken to have, whatever routers say (min_pmtu of Linux), 68
         * to 1280. A message that nobody can check makes segments no smaller than that. Default 552. Over IPv6 it is
         * 1280 (RFC 8201).
         */
        public Builder minPathMtuBytes(int value) {
            minPathMtuBytes = intInRange("minPathMtuBytes", value, 68, 1280);
            return this;
        }

        /**
         * After how many timeouts in a row of the same large segment the path is suspected of dropping large packets in
         * silence (RFC 2923 section 2.1), so that smaller ones are sent; 0 for never. Loss alone can look the same:
         * then a large segment that goes through, of a few that try it, ends the suspicion.
         */
        public Builder blackHoleTimeouts(int value) {
            blackHoleTimeouts = intInRange("blackHoleTimeouts", value, 0, 15);
            return this;
        }

        /**
         * Payload slices per segment at most: the scatter-gather entries a device takes, less those of the headers.
         */
        public Builder maxSlices(int value) {
            maxSlices = intInRange("maxSlices", value, 1, Segment.MAX_SLICES);
            return this;
        }

        /**
         * Payload of one polled segment at most, where the device cuts it into TCP segments of
         * {@link Segment#segmentSizeBytes()} (TSO), up to {@value #MAX_SEGMENTATION_BYTES}. 0, the default: the device
         * does not, and every polled segment is one on the wire. Retransmissions are never cut.
         */
        public Builder segmentationBytes(int value) {
            segmentationBytes = intInRange("segmentationBytes", value, 0, MAX_SEGMENTATION_BYTES);
            return this;
        }

        /**
         * The secret that fast open cookies (RFC 7413) are made with. Engines that serve one port, such as the loops of
         * a group, should share it: a client's next SYN may reach another of them. 0, 0, the default: each engine has
         * one of its own.
         */
        public Builder fastOpenKey(long high, long low) {
            fastOpenKeyHigh = high;
            fastOpenKeyLow = low;
            return this;
        }

        /**
         * The keys of the host that the engine is a part of. Engines that have an address in common, such as the loops
         * of a process, should share them. Null, the default: the engine makes its own.
         */
        public Builder secrets(TcpSecrets value) {
            secrets = value;
            return this;
        }

        /**
         * For tests and simulations: initial sequence numbers from here rather than by RFC 6528. Default null. Whoever
         * sets it in earnest opens his connections to blind attacks.
         */
        public Builder initialSequence(IntSupplier source) {
            initialSequence = source;
            return this;
        }

        /** What the peers of the engine can make it hold and do, at most. */
        public Builder limits(TcpLimits value) {
            limits = Objects.requireNonNull(value, "limits");
            return this;
        }

        /**
         * Builds the configuration.
         *
         * @throws IllegalArgumentException if settings contradict each other
         */
        public TcpConfig build() {
            if (firstEphemeralPort > lastEphemeralPort) {
                throw new IllegalArgumentException("firstEphemeralPort " + firstEphemeralPort
                        + " lies above lastEphemeralPort " + lastEphemeralPort + "; swap them");
            }
            if (minRtoNanos > maxRtoNanos) {
                throw new IllegalArgumentException("minRtoNanos " + minRtoNanos + " lies above maxRtoNanos "
                        + maxRtoNanos + "; lower it");
            }
            return new TcpConfig(this);
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
