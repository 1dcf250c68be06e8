package io.rdmaraw.metrics;

import java.util.List;
import java.util.Map;

/**
 * What one loop's queue on one port has counted, and what the channels on it have. Readable on any thread.
 */
public interface RdmaRawPortStatistics extends RdmaRawMetered {
    /** Returns the device's name. */
    String deviceName();

    /** Returns the port's number, from 1. */
    int portNumber();

    /**
     * Returns how many bursts had from 2^n to less than 2^(n+1) frames.
     *
     * @param n 0 to 6; the last class has the full bursts of 64
     */
    long burstsOfFill(int n);

    /**
     * Returns what the channels on this queue count, each under its identifier and local address. TCP's connections are
     * counted together, under {@code tcp}: see {@link RdmaRawTcpStatistics}.
     */
    Map<String, RdmaRawMetered> channels();

    /** Returns what channels can count, by their kind: {@code channel}, {@code datagram}, {@code host}, {@code tcp}. */
    Map<String, List<RdmaRawMetric>> channelMetrics();

    /** Returns what all channels that this queue has ever had counted, by metric. */
    Map<RdmaRawMetric, Long> channelTotals();
}
