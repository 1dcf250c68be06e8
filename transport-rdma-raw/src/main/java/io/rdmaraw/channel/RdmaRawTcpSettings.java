package io.rdmaraw.channel;

import io.netty.util.internal.ObjectUtil;
import io.rdmaraw.tcp.TcpConfig;

import java.util.concurrent.TimeUnit;

/**
 * Defaults of TCP for the loops of a group; channel options override them. Pass them to
 * {@link RdmaRawIoHandlerConfig.Builder#tcp}, which copies them. Not thread-safe.
 *
 * {@snippet :
 * RdmaRawIoHandlerConfig.builder().device("soft:xdp:eth0")
 *         .tcp(new RdmaRawTcpSettings().maxTimeouts(8).finWait2(10, TimeUnit.SECONDS)).build();
 * }
 *
 * <p>Setters throw {@link IllegalArgumentException} if a value is out of range. Names in parentheses are settings of
 * Linux under net.ipv4, unless stated otherwise. {@code docs/reference/tcp-settings.md} lists all settings, including
 * those of other classes.
 */
public final class RdmaRawTcpSettings {
    /** Use of ECN (RFC 3168) and of accurate ECN feedback, which counts the marks (AccECN, RFC 9768). */
    public enum Ecn {
        /** ECN is neither offered nor accepted (tcp_ecn=0). */
        OFF,
        /** ECN is accepted if the peer offers it; the default (tcp_ecn=2). */
        PASSIVE,
        /** ECN is offered and accepted (tcp_ecn=1). */
        ACTIVE,
        /** Accurate ECN is offered and accepted; peers without it use RFC 3168 (tcp_ecn=3). */
        ACCURATE,
        /** Both forms are accepted if the peer offers them; none is offered (tcp_ecn=5). */
        ACCURATE_PASSIVE
    }

    /** Use of SYN cookies (RFC 4987). */
    public enum SynCookies {
        /** A SYN beyond the backlog is dropped (tcp_syncookies=0). */
        NEVER,
        /** A SYN beyond the backlog is answered with a cookie; the default (tcp_syncookies=1). */
        ON_OVERFLOW,
        /** Every SYN is answered with a cookie (tcp_syncookies=2). */
        ALWAYS
    }

    private TcpConfig.Builder config = TcpConfig.builder();

    /** Creates settings with their default values. */
    public RdmaRawTcpSettings() {
    }

    RdmaRawTcpSettings copy() {
        RdmaRawTcpSettings copy = new RdmaRawTcpSettings();
        copy.config = toConfigBuilder();
        return copy;
    }

    /** Returns a builder of the TCP core's configuration that starts with these settings. */
    TcpConfig.Builder toConfigBuilder() {
        return config.build().toBuilder();
    }

    int initialReceiveBufferBytes() {
        return config.build().initialReceiveBufferBytes();
    }

    /**
     * Sets the use of ECN, with which routers mark packets instead of dropping them (tcp_ecn). Default
     * {@link Ecn#PASSIVE}.
     */
    public RdmaRawTcpSettings ecn(Ecn use) {
        config.ecn(TcpConfig.EcnMode.valueOf(ObjectUtil.checkNotNull(use, "use").name()));
        return this;
    }

    /**
     * Sets whether an ECN mark reduces the congestion window less than a loss (RFC 8511; FreeBSD: net.inet.tcp.cc.abe).
     * In congestion avoidance, {@code cubic} then reduces its window by 15 % instead of 30 %, and {@code reno} by 20 %
     * instead of 50 %. Useful if queues on the path mark early. Default false.
     */
    public RdmaRawTcpSettings alternativeBackoff(boolean on) {
        config.alternativeBackoff(on);
        return this;
    }

    /** Sets when SYN cookies are used (tcp_syncookies). Default {@link SynCookies#ON_OVERFLOW}. */
    public RdmaRawTcpSettings synCookies(SynCookies use) {
        config.synCookies(TcpConfig.SynCookieMode.valueOf(ObjectUtil.checkNotNull(use, "use").name()));
        return this;
    }

    /**
     * Sets the initial size of receive buffers, for connections without {@code SO_RCVBUF} (second value of tcp_rmem):
     * 2048 to 2^30 bytes, default 256 KiB. The buffer grows up to
     * {@link RdmaRawIoHandlerConfig.Builder#maxReceiveBufferBytes}.
     */
    public RdmaRawTcpSettings initialReceiveBufferBytes(int bytes) {
        config.initialReceiveBufferBytes(bytes);
        return this;
    }

    /**
     * Sets the limit for the memory in which a connection holds out-of-order data: 0 to 2^30 bytes, default 1 MiB. If
     * its receive buffer has grown beyond the initial size, the limit is at least 9/4 of that buffer.
     */
    public RdmaRawTcpSettings maxOutOfOrderBytes(int bytes) {
        config.maxOutOfOrderBytes(bytes);
        return this;
    }

    /**
     * Sets whether data is paced over the round trip with every congestion control (Linux: qdisc {@code fq}).
     * {@code bbr} always paces. Default false.
     */
    public RdmaRawTcpSettings pacing(boolean on) {
        config.pacing(on);
        return this;
    }

    /** Sets whether selective acknowledgements (RFC 2018) are offered and accepted (tcp_sack). Default true. */
    public RdmaRawTcpSettings sack(boolean on) {
        config.sack(on);
        return this;
    }

    /** Sets whether timestamps (RFC 7323) are offered and accepted (tcp_timestamps). Default true. */
    public RdmaRawTcpSettings timestamps(boolean on) {
        config.timestamps(on);
        return this;
    }

    /** Sets whether windows above 64 KiB (RFC 7323) are offered and accepted (tcp_window_scaling). Default true. */
    public RdmaRawTcpSettings windowScaling(boolean on) {
        config.windowScaling(on);
        return this;
    }

    /** Sets the initial congestion window in segments (RFC 6928; initcwnd of a route): 1 to 100, default 10. */
    public RdmaRawTcpSettings initialWindowSegments(int segments) {
        config.initialWindowSegments(segments);
        return this;
    }

    /**
     * Sets how often a SYN is retransmitted, if {@link RdmaRawChannelOption#TCP_SYNCNT} is not set (tcp_syn_retries): 0
     * to 30, default 6.
     */
    public RdmaRawTcpSettings synRetries(int retries) {
        config.synRetries(retries);
        return this;
    }

    /** Sets how often a SYN-ACK is retransmitted (tcp_synack_retries): 0 to 30, default 5. */
    public RdmaRawTcpSettings synAckRetries(int retries) {
        config.synAckRetries(retries);
        return this;
    }

    /**
     * Sets the number of consecutive timeouts after which a connection ends (tcp_retries2; R2 of RFC 9293): 1 to 60,
     * default 15.
     */
    public RdmaRawTcpSettings maxTimeouts(int timeouts) {
        config.maxTimeouts(timeouts);
        return this;
    }

    /**
     * Sets the number of consecutive timeouts after which the next hop is resolved again (tcp_retries1; R1 of RFC
     * 9293): 1 to 60, default 3.
     */
    public RdmaRawTcpSettings pathSuspectTimeouts(int timeouts) {
        config.pathSuspectTimeouts(timeouts);
        return this;
    }

    /**
     * Sets the number of unanswered keepalive probes after which a connection ends, if
     * {@link RdmaRawChannelOption#TCP_KEEPCNT} is not set (tcp_keepalive_probes): 1 to 127, default 9.
     */
    public RdmaRawTcpSettings keepAliveProbes(int probes) {
        config.keepAliveProbes(probes);
        return this;
    }

    /**
     * Sets the maximum number of connections in TIME-WAIT per loop (tcp_max_tw_buckets): 1 to 2^26, default 262,144.
     * Beyond it, the oldest is removed and counted.
     */
    public RdmaRawTcpSettings maxTimeWaitConnections(int connections) {
        config.maxTimeWaitConnections(connections);
        return this;
    }

    /**
     * Sets whether a connect may reuse the addresses and ports of a connection in TIME-WAIT (tcp_tw_reuse). The old
     * connection must have used timestamps, which distinguish the segments of the two. Default true.
     */
    public RdmaRawTcpSettings timeWaitReuse(boolean reuse) {
        config.timeWaitReuse(reuse);
        return this;
    }

    /** Sets whether TIME-WAIT ignores RSTs (tcp_rfc1337). Default false. */
    public RdmaRawTcpSettings ignoreResetsInTimeWait(boolean ignore) {
        config.ignoreResetsInTimeWait(ignore);
        return this;
    }

    /**
     * Sets the minimum path MTU accepted from routers over IPv4 (route/min_pmtu): 68 to 1280 bytes, default 552. Forged
     * ICMP messages cannot force smaller segments.
     */
    public RdmaRawTcpSettings minPathMtuBytes(int bytes) {
        config.minPathMtuBytes(bytes);
        return this;
    }

    /**
     * Sets the number of timeouts of the same large segment after which smaller segments are tried, because the path
     * may drop large ones (tcp_mtu_probing): 0 to 15, default 3; 0 disables the detection.
     */
    public RdmaRawTcpSettings blackHoleTimeouts(int timeouts) {
        config.blackHoleTimeouts(timeouts);
        return this;
    }

    /**
     * Sets the retransmission timeout before the first round trip is measured (RFC 6298): 1 ms to 60 s, default 1 s.
     */
    public RdmaRawTcpSettings initialRto(long duration, TimeUnit unit) {
        config.initialRtoNanos(unit.toNanos(duration));
        return this;
    }

    /**
     * Sets the maximum of the retransmission timeout and of the interval between zero-window probes (tcp_rto_max_ms): 1
     * to 600 s, default 120 s.
     */
    public RdmaRawTcpSettings maxRto(long duration, TimeUnit unit) {
        config.maxRtoNanos(unit.toNanos(duration));
        return this;
    }

    /**
     * Sets the maximum time that an acknowledgement is delayed, so that it can be sent with data: 0 to 500 ms, default
     * 40 ms.
     */
    public RdmaRawTcpSettings delayedAck(long duration, TimeUnit unit) {
        config.delayedAckNanos(unit.toNanos(duration));
        return this;
    }

    /**
     * Sets the time without traffic before keepalive probes start, if {@link RdmaRawChannelOption#TCP_KEEPIDLE} is not
     * set (tcp_keepalive_time): at least 1 ms, default two hours.
     */
    public RdmaRawTcpSettings keepAliveIdle(long duration, TimeUnit unit) {
        config.keepAliveIdleNanos(unit.toNanos(duration));
        return this;
    }

    /**
     * Sets the interval between keepalive probes, if {@link RdmaRawChannelOption#TCP_KEEPINTVL} is not set
     * (tcp_keepalive_intvl): at least 1 ms, default 75 s.
     */
    public RdmaRawTcpSettings keepAliveInterval(long duration, TimeUnit unit) {
        config.keepAliveIntervalNanos(unit.toNanos(duration));
        return this;
    }

    /**
     * Sets the maximum time that data may stay unacknowledged or unsent, if
     * {@link RdmaRawChannelOption#TCP_USER_TIMEOUT} is not set: 0 to 24 days, in whole milliseconds. With 0, the
     * default, only {@link #maxTimeouts} counts.
     */
    public RdmaRawTcpSettings userTimeout(long duration, TimeUnit unit) {
        config.userTimeoutNanos(unit.toNanos(duration));
        return this;
    }

    /**
     * Sets the maximum time that the connection of a closed channel waits for the FIN of the peer, if
     * {@link RdmaRawChannelOption#TCP_LINGER2} is not set (tcp_fin_timeout): at least 1 ms, default 60 s.
     */
    public RdmaRawTcpSettings finWait2(long duration, TimeUnit unit) {
        config.finWait2Nanos(unit.toNanos(duration));
        return this;
    }

    /**
     * Sets the duration of TIME-WAIT: default 60 s, as on Linux. 0 disables TIME-WAIT; old segments may then be
     * accepted by a new connection.
     */
    public RdmaRawTcpSettings timeWait(long duration, TimeUnit unit) {
        config.timeWaitNanos(unit.toNanos(duration));
        return this;
    }

    /**
     * Sets the minimum interval between challenge ACKs of a connection (RFC 5961; tcp_invalid_ratelimit): 0 to 10 s,
     * default 100 ms.
     */
    public RdmaRawTcpSettings challengeAckInterval(long duration, TimeUnit unit) {
        config.challengeAckIntervalNanos(unit.toNanos(duration));
        return this;
    }

    /**
     * Sets the time after which a larger path MTU is tried again (route/mtu_expires): at least 1 s, default ten
     * minutes.
     */
    public RdmaRawTcpSettings pathMtuLifetime(long duration, TimeUnit unit) {
        config.pathMtuLifetimeNanos(unit.toNanos(duration));
        return this;
    }
}
