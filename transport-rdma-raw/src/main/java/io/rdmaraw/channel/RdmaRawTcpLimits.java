package io.rdmaraw.channel;

import io.netty.util.internal.UnstableApi;
import io.rdmaraw.tcp.TcpConfig;
import io.rdmaraw.tcp.TcpLimits;

/**
 * What the TCP of a loop on a device lets its peers make it hold and do, at most. Every limit has a default; a number
 * out of range is refused at once. Passed to {@link RdmaRawIoHandlerConfig.Builder#tcpLimits}, which copies it.
 */
@UnstableApi
public final class RdmaRawTcpLimits {
    private final TcpLimits.Builder limits = TcpLimits.builder();
    private int orphanRetries;

    /** The defaults. */
    public RdmaRawTcpLimits() {
    }

    /** Sets these limits, and the retries if they were set, where the core has them. */
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
     * Sets how often what a closed channel still had to send is repeated without an answer (tcp_orphan_retries of
     * Linux), 1 to 60, by default 8; also how many probes go, at least, to a peer that answers and keeps its window
     * closed, whose connection ends when their interval has grown to two minutes too.
     */
    public RdmaRawTcpLimits orphanRetries(int retries) {
        TcpConfig.builder().orphanRetries(retries);
        orphanRetries = retries;
        return this;
    }

    /**
     * Sets how many connections may live on whose channels are closed (tcp_max_orphans of Linux): 1 to 2^26, by default
     * 16,384. Beyond it the one whose peer has acknowledged nothing for the longest time is reset, and counted as
     * {@code orphan-overflows}.
     */
    public RdmaRawTcpLimits maxOrphans(int connections) {
        limits.maxOrphans(connections);
        return this;
    }

    /** Sets how many bytes such connections may have queued together: 0 to 2^60, by default 256 MiB. */
    public RdmaRawTcpLimits maxOrphanBytes(long bytes) {
        limits.maxOrphanBytes(bytes);
        return this;
    }

    /**
     * Sets the least maximum segment size that a peer is believed (tcp_min_snd_mss of Linux): 48 to 1220 bytes, by
     * default 216.
     */
    public RdmaRawTcpLimits minSendMss(int bytes) {
        limits.minSendMss(bytes);
        return this;
    }

    /** Sets how many segments a connection has in flight at most: 64 to 2^24, by default 32,768. */
    public RdmaRawTcpLimits maxSegmentsInFlight(int segments) {
        limits.maxSegmentsInFlight(segments);
        return this;
    }

    /**
     * Sets how much received data all connections hold together, not read or out of order (tcp_mem of Linux): 64 KiB to
     * 2^60 bytes, by default 256 MiB. From three quarters of it on windows fall to an equal share.
     */
    public RdmaRawTcpLimits maxReceiveBytes(long bytes) {
        limits.maxReceiveBytes(bytes);
        return this;
    }

    /** Sets in how many ranges a connection holds data out of order at most: 4 to 65,536, by default 512. */
    public RdmaRawTcpLimits maxOutOfOrderRanges(int ranges) {
        limits.maxOutOfOrderRanges(ranges);
        return this;
    }
}
