package io.rdmaraw.tcp;

import io.rdmaraw.tcp.congestion.CongestionControl;
import io.rdmaraw.tcp.congestion.Cubic;
import io.rdmaraw.tcp.segment.Segment;

import java.util.Objects;
import java.util.function.IntSupplier;

/**
 * The configuration of an engine. Instances are immutable; use {@link #builder()} to create one. Times are in
 * nanoseconds, sizes in bytes. Most settings take effect when a connection is opened; some can be changed per
 * connection (see {@link TcpConnection}).
 */
public final class TcpConfig implements Cloneable {
    /** Use of ECN (RFC 3168) and of its accurate feedback (RFC 9768). */
    public enum EcnMode {
        /** ECN is neither offered nor accepted. */
        OFF,
        /** Classic ECN is accepted if the peer offers it. */
        PASSIVE,
        /** Classic ECN is offered and accepted. */
        ACTIVE,
        /** Accurate feedback is offered and accepted; classic ECN is used with peers that support nothing else. */
        ACCURATE,
        /** Accurate and classic ECN are accepted if the peer offers them. */
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

    /** Maximum of {@link Builder#segmentationBytes}: an IP packet including its headers has at most 65535 bytes. */
    public static final int MAX_SEGMENTATION_BYTES = 65_400;

    /** The default configuration. */
    public static final TcpConfig DEFAULT = builder().build();

    int mtuBytes = 1500;
    int initialReceiveBufferBytes = 256 * 1024;
    int maxReceiveBufferBytes;
    int maxOutOfOrderBytes = 1 << 20;
    boolean noDelay = true;
    boolean sack = true;
    boolean timestamps = true;
    boolean windowScaling = true;
    EcnMode ecn = EcnMode.PASSIVE;
    boolean accEcnOption = true;
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
    int maxTimeouts = 15;
    int orphanRetries = 8;
    int pathSuspectTimeouts = 3;
    long keepAliveIdleNanos = 7_200_000_000_000L;
    long keepAliveIntervalNanos = 75_000_000_000L;
    int keepAliveProbes = 9;
    long userTimeoutNanos;
    long finWait2Nanos = 60_000_000_000L;
    long timeWaitNanos = 60_000_000_000L;
    int maxTimeWaitConnections = 1 << 18;
    boolean timeWaitReuse = true;
    boolean ignoreResetsInTimeWait;
    SynCookieMode synCookies = SynCookieMode.ON_OVERFLOW;
    long challengeAckIntervalNanos = 100_000_000L;
    int firstEphemeralPort = 32768;
    int lastEphemeralPort = 60999;
    long pathMtuLifetimeNanos = 600_000_000_000L;
    int minPathMtuBytes = 552;
    int blackHoleTimeouts = 3;
    int maxSlices = Segment.MAX_SLICES;
    int segmentationBytes;
    long fastOpenKeyHigh;
    long fastOpenKeyLow;
    TcpSecrets secrets;
    IntSupplier initialSequence;
    TcpLimits limits = TcpLimits.DEFAULT;

    /** Returns the initial size of a receive buffer in bytes. */
    public int initialReceiveBufferBytes() {
        return initialReceiveBufferBytes;
    }

    /** Returns the size in bytes to which a receive buffer may grow. */
    int effectiveMaxReceiveBufferBytes() {
        return Math.max(initialReceiveBufferBytes, maxReceiveBufferBytes);
    }

    private TcpConfig() {
        // Created only by the builder.
    }

    /** Returns a copy that later changes of the builder do not affect. */
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

    /** Returns a builder initialized with these settings. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.config = copy();
        return builder;
    }

    /**
     * Builds a configuration. Every setting has a default. Setters throw {@link IllegalArgumentException} if a
     * number is out of range.
     */
    public static final class Builder {
        private TcpConfig config = new TcpConfig();

        private Builder() {
        }

        /** Sets the MTU of connections that are opened without their own, 576 to 65535 bytes. */
        public Builder mtuBytes(int value) {
            config.mtuBytes = intInRange("mtuBytes", value, 576, 65535);
            return this;
        }

        /**
         * Sets the initial receive buffer: how many bytes a peer may send ahead of the reader. The receive window is
         * the unused part.
         */
        public Builder initialReceiveBufferBytes(int value) {
            config.initialReceiveBufferBytes = intInRange("initialReceiveBufferBytes", value, 2048, 1 << 30);
            return this;
        }

        /**
         * Sets the size to which receive buffers grow automatically with the bytes read per round trip (as
         * Linux's tcp_rmem), at most 2^30. Values below {@link #initialReceiveBufferBytes}, such as the default 0,
         * disable the growth.
         */
        public Builder maxReceiveBufferBytes(int value) {
            config.maxReceiveBufferBytes = intInRange("maxReceiveBufferBytes", value, 0, 1 << 30);
            return this;
        }

        /**
         * Sets the limit for the memory in which a connection holds out-of-order data. Data beyond it is dropped
         * and counted. Each piece is charged its buffer plus {@value io.rdmaraw.tcp.Reassembly#OVERHEAD_BYTES}
         * bytes. Pieces below 1 KiB are copied into small buffers. If the receive buffer of a connection has
         * grown beyond the configured size, its limit is at least 9/4 of that buffer.
         */
        public Builder maxOutOfOrderBytes(int value) {
            config.maxOutOfOrderBytes = intInRange("maxOutOfOrderBytes", value, 0, 1 << 30);
            return this;
        }

        /**
         * Sets whether small segments are sent at once (true) or wait until outstanding data is acknowledged
         * (Nagle algorithm, RFC 9293 section 3.7.4).
         */
        public Builder noDelay(boolean value) {
            config.noDelay = value;
            return this;
        }

        /** Sets whether SACK (RFC 2018) is offered and accepted. */
        public Builder sack(boolean value) {
            config.sack = value;
            return this;
        }

        /** Sets whether timestamps (RFC 7323) are offered and accepted. */
        public Builder timestamps(boolean value) {
            config.timestamps = value;
            return this;
        }

        /** Sets whether window scaling (RFC 7323) is offered and accepted. */
        public Builder windowScaling(boolean value) {
            config.windowScaling = value;
            return this;
        }

        /** Sets the use of ECN (RFC 3168, RFC 9768). */
        public Builder ecn(EcnMode value) {
            config.ecn = Objects.requireNonNull(value, "ecn");
            return this;
        }

        /** Sets whether connections with accurate ECN send the AccECN option (RFC 9768 section 3.2.3). */
        public Builder accEcnOption(boolean value) {
            config.accEcnOption = value;
            return this;
        }

        /**
         * Sets whether NewReno and CUBIC reduce the window less for an ECN mark than for a loss (RFC 8511).
         * Default false.
         */
        public Builder alternativeBackoff(boolean value) {
            config.alternativeBackoff = value;
            return this;
        }

        /** Sets the factory of the congestion control, called for each connection. */
        public Builder congestionControl(CongestionControl.Factory value) {
            config.congestionControl = Objects.requireNonNull(value, "congestionControl");
            return this;
        }

        /**
         * Sets whether data is paced with every congestion control. The rate is 2 windows per round trip in slow
         * start and 1.2 windows afterwards, as on Linux. Rate-based controls always pace. Default false.
         */
        public Builder pacing(boolean value) {
            config.pacing = value;
            return this;
        }

        /** Sets the initial congestion window in segments (RFC 6928). */
        public Builder initialWindowSegments(int value) {
            config.initialWindowSegments = intInRange("initialWindowSegments", value, 1, 100);
            return this;
        }

        /** Sets the retransmission timeout before the first RTT sample (RFC 6298). */
        public Builder initialRtoNanos(long value) {
            config.initialRtoNanos = longInRange("initialRtoNanos", value, 1_000_000L, 60_000_000_000L);
            return this;
        }

        /**
         * Sets the lower bound of the term that is added to the smoothed RTT for the retransmission timeout (as Linux's
         * tcp_rto_min_us), 1 ms to 60 s: RTO = SRTT + max(this, 4 RTTVAR). It should exceed the time for which peers
         * delay ACKs. Default 200 ms.
         */
        public Builder minRtoNanos(long value) {
            config.minRtoNanos = longInRange("minRtoNanos", value, 1_000_000L, 60_000_000_000L);
            return this;
        }

        /** Sets the maximum of the retransmission timeout and of the interval between zero-window probes. */
        public Builder maxRtoNanos(long value) {
            config.maxRtoNanos = longInRange("maxRtoNanos", value, 1_000_000_000L, 600_000_000_000L);
            return this;
        }

        /** Sets the maximum delay of an ACK (RFC 9293 section 3.8.6.3). */
        public Builder delayedAckNanos(long value) {
            config.delayedAckNanos = longInRange("delayedAckNanos", value, 0, 500_000_000L);
            return this;
        }

        /** Sets how often a SYN is retransmitted before the connection attempt fails. */
        public Builder synRetries(int value) {
            config.synRetries = intInRange("synRetries", value, 0, 30);
            return this;
        }

        /** Sets how often a SYN-ACK is retransmitted before the half-open connection is removed. */
        public Builder synAckRetries(int value) {
            config.synAckRetries = intInRange("synAckRetries", value, 0, 30);
            return this;
        }

        /**
         * Sets the number of consecutive timeouts without progress after which a connection fails (R2, RFC 9293
         * section 3.8.3).
         */
        public Builder maxTimeouts(int value) {
            config.maxTimeouts = intInRange("maxTimeouts", value, 1, 60);
            return this;
        }

        /**
         * Sets the number of timeouts without an answer after which {@link TcpEvents#pathSuspect} is called (R1
         * of RFC 9293 section 3.8.3, Linux's tcp_retries1), 1 to 60. Default 3, the minimum that the RFC
         * recommends.
         */
        public Builder pathSuspectTimeouts(int value) {
            config.pathSuspectTimeouts = intInRange("pathSuspectTimeouts", value, 1, 60);
            return this;
        }

        /**
         * Sets the number of retries for connections that the user has closed (as Linux's tcp_orphan_retries), 1
         * to 60. Default 8. If the peer answers but keeps its window closed, the connection ends after this
         * number of probes, but not before the interval between probes has reached {@link #maxRtoNanos}. With a
         * timeout of 200 ms this takes 205 s. The time restarts only if the peer acknowledges new data.
         */
        public Builder orphanRetries(int value) {
            config.orphanRetries = intInRange("orphanRetries", value, 1, 60);
            return this;
        }

        /** Sets the idle time before the first keepalive probe. */
        public Builder keepAliveIdleNanos(long value) {
            config.keepAliveIdleNanos = longInRange("keepAliveIdleNanos", value, 1_000_000L, 1L << 60);
            return this;
        }

        /** Sets the interval between keepalive probes. */
        public Builder keepAliveIntervalNanos(long value) {
            config.keepAliveIntervalNanos = longInRange("keepAliveIntervalNanos", value, 1_000_000L, 1L << 60);
            return this;
        }

        /** Sets the number of unanswered keepalive probes after which a connection fails. */
        public Builder keepAliveProbes(int value) {
            config.keepAliveProbes = intInRange("keepAliveProbes", value, 1, 127);
            return this;
        }

        /**
         * Sets how long data may stay unacknowledged or unsent before a connection fails (RFC 9293 section 3.8.3,
         * TCP_USER_TIMEOUT). Fractions of a millisecond are ignored. Default 0: only the number of retries
         * counts.
         */
        public Builder userTimeoutNanos(long value) {
            config.userTimeoutNanos = longInRange("userTimeoutNanos", value, 0, TcpConnection.MAX_MILLIS * 1_000_000L);
            return this;
        }

        /** Sets how long a connection that the user has closed waits for the peer's FIN. */
        public Builder finWait2Nanos(long value) {
            config.finWait2Nanos = longInRange("finWait2Nanos", value, 1_000_000L, 1L << 60);
            return this;
        }

        /** Sets the duration of TIME-WAIT. */
        public Builder timeWaitNanos(long value) {
            config.timeWaitNanos = longInRange("timeWaitNanos", value, 0, 1L << 60);
            return this;
        }

        /** Sets the maximum number of connections in TIME-WAIT. Beyond it, the oldest is removed and counted. */
        public Builder maxTimeWaitConnections(int value) {
            config.maxTimeWaitConnections = intInRange("maxTimeWaitConnections", value, 1, 1 << 26);
            return this;
        }

        /**
         * Sets whether an active open may reuse the 4-tuple of a connection in TIME-WAIT (as Linux's
         * tcp_tw_reuse). The old connection must have used timestamps and have been in TIME-WAIT for a second, so
         * that PAWS can distinguish the segments of the two. Free ports are preferred. Default true.
         */
        public Builder timeWaitReuse(boolean value) {
            config.timeWaitReuse = value;
            return this;
        }

        /**
         * Sets whether TIME-WAIT ignores RSTs (as Linux's tcp_rfc1337; fix F1 of RFC 1337). Default false, as on
         * Linux.
         *
         * <p>If RSTs are accepted, an old duplicate can end TIME-WAIT early: it is answered, and a peer that has
         * already removed the connection answers that with an exact RST. If they are ignored, a peer cannot clear
         * TIME-WAIT with a new SYN that has a lower sequence number than the old connection. It then waits for up to
         * a minute.
         */
        public Builder ignoreResetsInTimeWait(boolean value) {
            config.ignoreResetsInTimeWait = value;
            return this;
        }

        /** Sets when SYN cookies (RFC 4987) are used. */
        public Builder synCookies(SynCookieMode value) {
            config.synCookies = Objects.requireNonNull(value, "synCookies");
            return this;
        }

        /** Sets the minimum interval between challenge ACKs of a connection (RFC 5961 section 7). */
        public Builder challengeAckIntervalNanos(long value) {
            config.challengeAckIntervalNanos = longInRange("challengeAckIntervalNanos", value, 0, 10_000_000_000L);
            return this;
        }

        /** Sets the first port of the range for active opens. */
        public Builder firstEphemeralPort(int value) {
            config.firstEphemeralPort = intInRange("firstEphemeralPort", value, 1, 65535);
            return this;
        }

        /** Sets the last port of the range for active opens, inclusive. */
        public Builder lastEphemeralPort(int value) {
            config.lastEphemeralPort = intInRange("lastEphemeralPort", value, 1, 65535);
            return this;
        }

        /** Sets how long a reduced path MTU is used before a larger one is tried (RFC 1191 section 6.3). */
        public Builder pathMtuLifetimeNanos(long value) {
            config.pathMtuLifetimeNanos = longInRange("pathMtuLifetimeNanos", value, 1_000_000_000L, 1L << 60);
            return this;
        }

        /**
         * Sets the minimum path MTU accepted from routers over IPv4 (as Linux's min_pmtu), 68 to 1280 bytes.
         * Forged ICMP messages cannot force smaller segments. Default 552. The minimum over IPv6 is always 1280
         * (RFC 8201).
         */
        public Builder minPathMtuBytes(int value) {
            config.minPathMtuBytes = intInRange("minPathMtuBytes", value, 68, 1280);
            return this;
        }

        /**
         * Sets the number of consecutive timeouts of a large segment after which a black hole is suspected (RFC
         * 2923 section 2.1), 0 to 15; 0 disables the detection. Smaller segments are then sent. Heavy loss can
         * look the same; a few large segments are therefore sent as probes, and the first that is delivered ends
         * the suspicion.
         */
        public Builder blackHoleTimeouts(int value) {
            config.blackHoleTimeouts = intInRange("blackHoleTimeouts", value, 0, 15);
            return this;
        }

        /**
         * Sets the maximum number of payload slices per segment: the scatter-gather entries that the device
         * supports, minus those for headers.
         */
        public Builder maxSlices(int value) {
            config.maxSlices = intInRange("maxSlices", value, 1, Segment.MAX_SLICES);
            return this;
        }

        /**
         * Sets the maximum payload of a polled segment for segmentation offload (TSO), at most
         * {@value #MAX_SEGMENTATION_BYTES}. The device divides such a segment into segments of
         * {@link Segment#segmentSizeBytes()}. Default 0: no offload, every polled segment is one on the wire.
         * Retransmissions never exceed one segment.
         */
        public Builder segmentationBytes(int value) {
            config.segmentationBytes = intInRange("segmentationBytes", value, 0, MAX_SEGMENTATION_BYTES);
            return this;
        }

        /**
         * Sets the key of Fast Open cookies (RFC 7413). Engines that serve the same port, such as the loops of a
         * group, should share it, because a client's next SYN may reach another engine. Default 0, 0: each engine
         * generates its own.
         */
        public Builder fastOpenKey(long high, long low) {
            config.fastOpenKeyHigh = high;
            config.fastOpenKeyLow = low;
            return this;
        }

        /**
         * Sets the secret keys of the host. Engines that share an address, such as the loops of a process, should
         * share them. Default null: the engine generates its own.
         */
        public Builder secrets(TcpSecrets value) {
            config.secrets = value;
            return this;
        }

        /**
         * Sets the source of initial sequence numbers, for tests and simulations. Default null: RFC 6528. A
         * predictable source in production exposes connections to blind attacks.
         */
        public Builder initialSequence(IntSupplier source) {
            config.initialSequence = source;
            return this;
        }

        /** Sets the limits for the resources that peers can make the engine use. */
        public Builder limits(TcpLimits value) {
            config.limits = Objects.requireNonNull(value, "limits");
            return this;
        }

        /**
         * Builds the configuration.
         *
         * @throws IllegalArgumentException if settings contradict each other
         */
        public TcpConfig build() {
            if (config.firstEphemeralPort > config.lastEphemeralPort) {
                throw new IllegalArgumentException("firstEphemeralPort " + config.firstEphemeralPort
                        + " lies above lastEphemeralPort " + config.lastEphemeralPort + "; swap them");
            }
            if (config.minRtoNanos > config.maxRtoNanos) {
                throw new IllegalArgumentException("minRtoNanos " + config.minRtoNanos + " lies above maxRtoNanos "
                        + config.maxRtoNanos + "; lower it");
            }
            return config.copy();
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
