package io.rdmaraw.microbench.server;

import io.netty.channel.EventLoopGroup;
import java.net.InetSocketAddress;
import org.HdrHistogram.Histogram;

/** A client on one event loop. It has one outstanding request on each connection and measures the round-trip times. */
interface PolledClient {
    /**
     * The result of a measurement.
     *
     * @param wrong   number of requests without a correct answer and of connections that ended early
     * @param nanos   round-trip times since {@link #startMeasuring}
     * @param atNanos end of the measurement according to {@link System#nanoTime}
     */
    record Result(long wrong, Histogram nanos, long atNanos) {
    }

    /** Opens the connections and sends the first request on each. */
    void open(EventLoopGroup group, InetSocketAddress server, int connections) throws InterruptedException;

    /** Starts a measurement and returns the current {@link System#nanoTime}. Runs on the loop. */
    long startMeasuring();

    /** Ends the measurement and returns its result. Later failures do not count. Runs on the loop. */
    Result result();

    /** Closes the connections. */
    void close() throws InterruptedException;
}
