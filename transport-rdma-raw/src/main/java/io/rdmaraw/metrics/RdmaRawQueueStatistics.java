package io.rdmaraw.metrics;

import java.util.List;
import java.util.Map;

/**
 * The counters of one loop's queue on one device port, and of the channels on that queue. Readable on any
 * thread.
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
     * Returns the open channels on this queue, by channel ID and local address. TCP connections are counted
     * together under {@code tcp}; see {@link RdmaRawTcpStatistics}.
     */
    Map<String, RdmaRawMetered> channels();

    /**
     * Returns the metrics of channels by kind of channel: {@code channel}, {@code datagram}, {@code host},
     * {@code tcp}.
     */
    Map<String, List<RdmaRawMetric>> metricsByKind();

    /**
     * Returns the sums over all channels of a kind that this queue has had, including closed ones. Empty if there was
     * none.
     *
     * @param kind a key of {@link #metricsByKind()}. Several kinds have equal metrics, such as
     *             {@code received.payload.bytes} of {@code datagram} and {@code tcp}.
     */
    Map<RdmaRawMetric, Long> totals(String kind);
}
