package io.rdmaraw.channel;

import io.netty.util.internal.ObjectUtil;
import io.rdmaraw.tcp.TcpConfig;

import java.util.concurrent.TimeUnit;

/**
 * How the TCP of a group's loops behaves where its channels do not say. Every setting has a default; a number out of
 * range is refused at once. Passed to {@link RdmaRawIoHandlerConfig.Builder#tcp}, which copies it:
 *
 * {@snippet :
 * RdmaRawIoHandlerConfig.builder().device("soft:xdp:eth0")
 *         .tcp(new RdmaRawTcpSettings().retries(8).finWait2(10, TimeUnit.SECONDS)).build();
 * }
 *
 * <p>The names in parentheses are those of Linux, net.ipv4 unless it is said. {@code docs/tcp-settings.md} has a table
 * of all settings, and of those that stand elsewhere.
 */
public final class RdmaRawTcpSettings {
    /** Use of ECN (RFC 3168), and of its accurate feedback, which counts marks (AccECN, RFC 9768). */
    public enum Ecn {
        /** Neither offered nor accepted; 0 of Linux' tcp_ecn. */
        OFF,
        /** Accepted when the peer offers it, the default; 2 of Linux' tcp_ecn. */
        PASSIVE,
        /** Offered and accepted; 1 of Linux' tcp_ecn. */
        ACTIVE,
        /**
         * Accurate feedback is offered and accepted, and that of RFC 3168 where a peer has no other; 3 of Linux'
         * tcp_ecn.
         */
        ACCURATE,
        /** Either is accepted when the peer offers it, and nothing is offered; 5 of Linux' tcp_ecn. */
        ACCURATE_PASSIVE
    }

    /** Use of SYN cookies (RFC 4987). */
    public enum SynCookies {
        /** A SYN beyond the backlog is dropped; 0 of Linux' tcp_syncookies. */
        NEVER,
        /** A SYN beyond the backlog is answered with a cookie, the default; 1 of Linux' tcp_syncookies. */
        ON_OVERFLOW,
        /** Every SYN is answered with a cookie; 2 of Linux' tcp_syncookies. */
        ALWAYS
    }

    private TcpConfig.Builder core = TcpConfig.builder();

    /** The defaults. */
    public RdmaRawTcpSettings() {
    }

    RdmaRawTcpSettings copy() {
        RdmaRawTcpSettings copy = new RdmaRawTcpSettings();
        copy.core = toCore();
        return copy;
    }

    /** Returns a builder of the core's settings that starts from these. */
    TcpConfig.Builder toCore() {
        return core.build().toBuilder();
    }

    int receiveBufferBytes() {
        return core.build().initialReceiveBufferBytes();
    }

    /** Sets whether marks of congestion take the place of losses (tcp_ecn). */
    public RdmaRawTcpSettings ecn(Ecn use) {
        core.ecn(TcpConfig.EcnMode.valueOf(ObjectUtil.checkNotNull(use, "use").name()));
        return this;
    }

    /**
     * Sets whether a mark of congestion costs {@code cubic} 15 % and {@code reno} 20 % of the window in congestion
     * avoidance, and not as much as a loss, 30 % and 50 % (RFC 8511, net.inet.tcp.cc.abe of FreeBSD; Linux has nothing
     * like it). For paths whose queues mark early. Default false.
     */
    public RdmaRawTcpSettings alternativeBackoff(boolean on) {
        core.alternativeBackoff(on);
        return this;
    }

    /** Sets what is done about SYNs beyond the backlog (tcp_syncookies). */
    public RdmaRawTcpSettings synCookies(SynCookies use) {
        core.synCookies(TcpConfig.SynCookieMode.valueOf(ObjectUtil.checkNotNull(use, "use").name()));
        return this;
    }

    /**
     * Sets with how many bytes the receive buffer of a connection begins whose {@code SO_RCVBUF} is not set (the second
     * of tcp_rmem): 2048 to 2^30, by default 256 KiB. It grows to
     * {@link RdmaRawIoHandlerConfig.Builder#maxReceiveBufferBytes}.
     */
    public RdmaRawTcpSettings receiveBufferBytes(int bytes) {
        core.receiveBufferBytes(bytes);
        return this;
    }

    /**
     * Sets how much memory a connection holds data in that came out of order: 0 to 2^30 bytes, by default 1 MiB. One
     * whose receive buffer has grown may hold nine quarters of that.
     */
    public RdmaRawTcpSettings maxOutOfOrderBytes(int bytes) {
        core.maxOutOfOrderBytes(bytes);
        return this;
    }

    /**
     * Sets whether data is spread over the round trip with every congestion control, as on Linux below {@code fq}. One
     * that measures rates, {@code bbr}, paces in any case. Default false.
     */
    public RdmaRawTcpSettings pacing(boolean on) {
        core.pacing(on);
        return this;
    }

    /** Sets whether selective acknowledgements (RFC 2018) are offered and accepted (tcp_sack). Default true. */
    public RdmaRawTcpSettings sack(boolean on) {
        core.sack(on);
        return this;
    }

    /** Sets whether timestamps (RFC 7323) are offered and accepted (tcp_timestamps). Default true. */
    public RdmaRawTcpSettings timestamps(boolean on) {
        core.timestamps(on);
        return this;
    }

    /** Sets whether windows above 64 KiB (RFC 7323) are offered and accepted (tcp_window_scaling). Default true. */
    public RdmaRawTcpSettings windowScaling(boolean on) {
        core.windowScaling(on);
        return this;
    }

    /**
     * Sets how many segments are sent before the first acknowledgement (RFC 6928; initcwnd of a route): 1 to 100, by
     * default 10.
     */
    public RdmaRawTcpSettings initialWindowSegments(int segments) {
        core.initialWindowSegments(segments);
        return this;
    }

    /**
     * Sets how often a SYN is sent again where {@link RdmaRawChannelOption#TCP_SYNCNT} does not say (tcp_syn_retries):
     * 0 to 30, by default 6.
     */
    public RdmaRawTcpSettings synRetries(int retries) {
        core.synRetries(retries);
        return this;
    }

    /** Sets how often a SYN-ACK is sent again (tcp_synack_retries): 0 to 30, by default 5. */
    public RdmaRawTcpSettings synAckRetries(int retries) {
        core.synAckRetries(retries);
        return this;
    }

    /**
     * Sets after how many timeouts in a row a connection ends (tcp_retries2; R2 of RFC 9293): 1 to 60, by default 15.
     */
    public RdmaRawTcpSettings retries(int retries) {
        core.retries(retries);
        return this;
    }

    /**
     * Sets after how many timeouts in a row the next hop is asked for again (tcp_retries1; R1 of RFC 9293): 1 to 60, by
     * default 3.
     */
    public RdmaRawTcpSettings pathRetries(int retries) {
        core.pathRetries(retries);
        return this;
    }

    /**
     * Sets how many keepalive probes go unanswered before a connection ends where {@link
     * RdmaRawChannelOption#TCP_KEEPCNT} does not say (tcp_keepalive_probes): 1 to 127, by default 9.
     */
    public RdmaRawTcpSettings keepAliveProbes(int probes) {
        core.keepAliveProbes(probes);
        return this;
    }

    /**
     * Sets how many connections a loop keeps in TIME-WAIT (tcp_max_tw_buckets): 1 to 2^26, by default 262,144. Beyond
     * it the oldest is forgotten.
     */
    public RdmaRawTcpSettings maxTimeWait(int connections) {
        core.maxTimeWait(connections);
        return this;
    }

    /**
     * Sets whether a connection may be opened where another one is in TIME-WAIT and timestamps tell the two apart
     * (tcp_tw_reuse). Default true.
     */
    public RdmaRawTcpSettings timeWaitReuse(boolean reuse) {
        core.timeWaitReuse(reuse);
        return this;
    }

    /** Sets whether TIME-WAIT lasts until its time is up, whatever reset comes (tcp_rfc1337). Default false. */
    public RdmaRawTcpSettings ignoreResetsInTimeWait(boolean ignore) {
        core.ignoreResetsInTimeWait(ignore);
        return this;
    }

    /**
     * Sets the least MTU that a path over IPv4 is taken to have, whatever routers say (route/min_pmtu): 68 to 1280
     * bytes, by default 552.
     */
    public RdmaRawTcpSettings minPathMtuBytes(int bytes) {
        core.minPathMtuBytes(bytes);
        return this;
    }

    /**
     * Sets after how many timeouts of the same large segment smaller ones are tried, since the path may drop large ones
     * (tcp_mtu_probing): 0, for never, to 15, by default 3.
     */
    public RdmaRawTcpSettings blackHoleTimeouts(int timeouts) {
        core.blackHoleTimeouts(timeouts);
        return this;
    }

    /**
     * Sets the retransmission timeout before the first round trip is measured (RFC 6298): 1 ms to 60 s, by default 1 s.
     */
    public RdmaRawTcpSettings initialRto(long duration, TimeUnit unit) {
        core.initialRtoNanos(unit.toNanos(duration));
        return this;
    }

    /**
     * Sets the longest retransmission timeout, and the longest time between probes of a closed window (tcp_rto_max_ms):
     * 1 to 600 s, by default 120 s.
     */
    public RdmaRawTcpSettings maxRto(long duration, TimeUnit unit) {
        core.maxRtoNanos(unit.toNanos(duration));
        return this;
    }

    /** Sets for how long an acknowledgement waits for something to go with: 0 to 500 ms, by default 40 ms. */
    public RdmaRawTcpSettings delayedAck(long duration, TimeUnit unit) {
        core.delayedAckNanos(unit.toNanos(duration));
        return this;
    }

    /**
     * Sets after what silence keepalive probes begin where {@link RdmaRawChannelOption#TCP_KEEPIDLE} does not say
     * (tcp_keepalive_time): 1 ms or longer, by default two hours.
     */
    public RdmaRawTcpSettings keepAliveIdle(long duration, TimeUnit unit) {
        core.keepAliveIdleNanos(unit.toNanos(duration));
        return this;
    }

    /**
     * Sets the time between keepalive probes where {@link RdmaRawChannelOption#TCP_KEEPINTVL} does not say
     * (tcp_keepalive_intvl): 1 ms or longer, by default 75 s.
     */
    public RdmaRawTcpSettings keepAliveInterval(long duration, TimeUnit unit) {
        core.keepAliveIntervalNanos(unit.toNanos(duration));
        return this;
    }

    /**
     * Sets for how long something may wait for the peer where {@link RdmaRawChannelOption#TCP_USER_TIMEOUT} does not
     * say: 0, the default, as long as the retries last, to 24 days, in milliseconds.
     */
    public RdmaRawTcpSettings userTimeout(long duration, TimeUnit unit) {
        core.userTimeoutNanos(unit.toNanos(duration));
        return this;
    }

    /**
     * Sets for how long a closed connection waits for its peer's end where {@link RdmaRawChannelOption#TCP_LINGER2}
     * does not say (tcp_fin_timeout): 1 ms or longer, by default 60 s.
     */
    public RdmaRawTcpSettings finWait2(long duration, TimeUnit unit) {
        core.finWait2Nanos(unit.toNanos(duration));
        return this;
    }

    /**
     * Sets how long TIME-WAIT is: by default 60 s, as on Linux; 0 for none, which lets old segments meet new
     * connections.
     */
    public RdmaRawTcpSettings timeWait(long duration, TimeUnit unit) {
        core.timeWaitNanos(unit.toNanos(duration));
        return this;
    }

    /**
     * Sets the shortest time between two challenge acknowledgements of a connection (RFC 5961; tcp_invalid_ratelimit):
     * 0 to 10 s, by default 100 ms.
     */
    public RdmaRawTcpSettings challengeAckInterval(long duration, TimeUnit unit) {
        core.challengeAckIntervalNanos(unit.toNanos(duration));
        return this;
    }

    /**
     * Sets after what time a path that was found to be narrow is tried again (route/mtu_expires): 1 s or longer, by
     * default ten minutes.
     */
    public RdmaRawTcpSettings pathMtuAge(long duration, TimeUnit unit) {
        core.pathMtuAgeNanos(unit.toNanos(duration));
        return this;
    }
}
