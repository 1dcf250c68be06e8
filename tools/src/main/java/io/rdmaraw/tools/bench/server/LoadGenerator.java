package io.rdmaraw.tools.bench.server;

import io.rdmaraw.tools.server.ServerNetwork;
import java.util.List;

/** A stock program that asks a server as fast as it answers. */
interface LoadGenerator {
    /**
     * What one run gave.
     *
     * @param answers   right answers
     * @param lost      questions without a right answer
     * @param p50Micros median time from question to answer, NaN if the program does not tell
     * @param p99Micros its 99th percentile, NaN if the program does not tell
     */
    record Load(long answers, long lost, double p50Micros, double p99Micros) {
    }

    /** The server's name in {@code ./rdma-raw example}. */
    String example();

    /** The case that is measured, as scripts know it. */
    String caseName();

    /**
     * Runs the program once.
     *
     * @param prefix what its command begins with
     */
    Load run(ServerNetwork network, List<String> prefix, int port, double seconds);
}
