package io.rdmaraw.microbench.server;

import io.netty.channel.EventLoopGroup;
import java.net.InetSocketAddress;
import org.HdrHistogram.Histogram;

/** Asks a server by one event loop, one question at a time on each connection, and tells how long each is under way. */
interface PolledClient {
    /**
     * What was measured.
     *
     * @param wrong   questions without a right answer, and connections that ended too soon
     * @param nanos   of each question that was answered since {@link #startMeasuring}
     * @param atNanos when this was
     */
    record Result(long wrong, Histogram nanos, long atNanos) {
    }

    /** Begins to ask, on so many connections. */
    void open(EventLoopGroup group, InetSocketAddress server, int connections) throws InterruptedException;

    /** Forgets what has been measured, and returns when. On the loop. */
    long startMeasuring();

    /** Returns what was measured. What fails from now on is not wrong. On the loop. */
    Result result();

    /** Closes the connections. */
    void close() throws InterruptedException;
}
