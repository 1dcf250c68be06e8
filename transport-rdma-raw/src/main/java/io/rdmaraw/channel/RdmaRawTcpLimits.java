package io.rdmaraw.channel;

import io.netty.util.internal.UnstableApi;
import io.rdmaraw.tcp.TcpConfig;
import io.rdmaraw.tcp.TcpLimits;

/**
 * Limits for the resources that peers can make the TCP of one loop use. Pass them to
 * {@link RdmaRawIoHandlerConfig.Builder#tcpLimits}, which copies them. Every limit has a default. Not thread-safe.
 *
 * <p>Setters throw {@link IllegalArgumentException} if a value is out of range. Names in parentheses are settings of
 * Linux under net.ipv4.
 */
@UnstableApi
public final class RdmaRawTcpLimits {
    private final TcpLimits.Builder limits = TcpLimits.builder();
    private int orphanRetries;

    /** Creates limits with their default values. */
    public RdmaRawTcpLimits() {
    }

    /** Applies these limits, and the retries if they were set, to the settings of the core. */
    TcpConfig.Builder applyTo(TcpConfig.Builder config) {
        return (orphanRetries == 0 ? config : config.orphanRetries(orphanRetries)).limits(limits.build());
    }

    RdmaRawTcpLimits copy() {
        RdmaRawTcpLimits copy = new RdmaRawTcpLimits();
        copy.orphanRetries = orphanRetries;
        copy.limits.setAll(limits.build());
        return copy;
    }

    /**
     * Sets the number of retransmissions for the connection of a closed channel (tcp_orphan_retries): 1 to 60, default
     * 8.
     *
     * <p>If the peer answers but keeps its window closed, the connection ends after this number of probes, but not
     * before the interval between probes has reached {@link RdmaRawTcpSettings#maxRto}.
     */
    public RdmaRawTcpLimits orphanRetries(int retries) {
        TcpConfig.builder().orphanRetries(retries);
        orphanRetries = retries;
        return this;
    }

    /**
     * Sets the maximum number of connections of closed channels (tcp_max_orphans): 1 to 2^26, default 16,384. Beyond
     * it, the connection without progress for the longest time is reset and counted as {@code orphan-overflows}.
     */
    public RdmaRawTcpLimits maxOrphans(int connections) {
        limits.maxOrphans(connections);
        return this;
    }

    /**
     * Sets the maximum number of bytes that connections of closed channels may have queued in total: 0 to 2^60, default
     * 256 MiB. Beyond it, the connection without progress for the longest time is reset and counted as
     * {@code orphan-overflows}.
     */
    public RdmaRawTcpLimits maxOrphanBytes(long bytes) {
        limits.maxOrphanBytes(bytes);
        return this;
    }

    /**
     * Sets the minimum MSS for segments to a peer (tcp_min_snd_mss): 48 to 1220 bytes, default 216. If a peer announces
     * a smaller MSS, this minimum is used instead.
     */
    public RdmaRawTcpLimits minSendMss(int bytes) {
        limits.minSendMss(bytes);
        return this;
    }

    /** Sets the maximum number of segments in flight per connection: 64 to 2^24, default 32,768. */
    public RdmaRawTcpLimits maxSegmentsInFlight(int segments) {
        limits.maxSegmentsInFlight(segments);
        return this;
    }

    /**
     * Sets the maximum number of bytes of received data, unread or out of order, of all connections (tcp_mem): 64 KiB
     * to 2^60, default 256 MiB. From three quarters of the limit, receive windows shrink to an equal share.
     */
    public RdmaRawTcpLimits maxReceiveBytes(long bytes) {
        limits.maxReceiveBytes(bytes);
        return this;
    }

    /**
     * Sets the maximum number of separate ranges of out-of-order data per connection: 4 to 65,536, default 512. Data
     * that would start another range is dropped and counted.
     */
    public RdmaRawTcpLimits maxOutOfOrderRanges(int ranges) {
        limits.maxOutOfOrderRanges(ranges);
        return this;
    }
}
