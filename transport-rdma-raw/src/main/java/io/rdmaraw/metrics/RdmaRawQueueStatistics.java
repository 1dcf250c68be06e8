package io.rdmaraw.metrics;

import java.util.List;
import java.util.Map;

/**
 * The counters of one loop's queue on one device port, and of the receivers of its frames: raw channels, datagram
 * channels, the TCP of the loop, and a userspace host. Readable on any thread.
 */
public interface RdmaRawQueueStatistics extends RdmaRawMetered {
    /** Returns the name of the device. */
    String deviceName();

    /** Returns the port number, from 1. */
    int portNumber();

    /**
     * Returns the number of receive bursts with at least 2^n and fewer than 2^(n+1) frames.
     *
     * @param n 0 to 6; 6 counts full bursts of 64 frames
     */
    long burstsOfFill(int n);

    /**
     * Returns the counters of the open raw and datagram channels on this queue, by channel ID and local address. All
     * TCP connections of the loop are one entry, {@code tcp}; see {@link RdmaRawTcpStatistics}. A userspace host is one
     * entry too.
     */
    Map<String, RdmaRawMetered> channels();

    /**
     * Returns the metrics of each kind of receiver: {@code channel} (a raw channel), {@code datagram}, {@code host} (a
     * userspace host) and {@code tcp}.
     */
    Map<String, List<RdmaRawMetric>> metricsByKind();

    /**
     * Returns the sums over all receivers of a kind that this queue has had, including closed ones. Empty if there was
     * none.
     *
     * @param kind a key of {@link #metricsByKind()}. Several kinds have equal metrics, such as
     *             {@code received.payload.bytes} of {@code datagram} and {@code tcp}.
     */
    Map<RdmaRawMetric, Long> totals(String kind);
}
