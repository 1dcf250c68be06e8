package io.rdmaraw.tools.bench.server;

import io.rdmaraw.tools.server.ServerNetwork;
import java.util.List;
import java.util.Map;

/** A program that asks a server: as fast as it answers, or at a rate. */
interface LoadGenerator {
    /**
     * What one run gave.
     *
     * @param answers      right answers
     * @param lost         questions without a right answer
     * @param loadSeconds  how long it asked, or NaN for as long as the program ran
     * @param figures      what the program tells besides
     * @param doubtOrNull  why the figures tell of the generator and not only of the server, as a sentence
     */
    record Load(long answers, long lost, double loadSeconds, Map<Measure, Double> figures, String doubtOrNull) {
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

    /** Tells whether it can run before anything has been measured, to warm the server up. */
    default boolean warmsUp() {
        return true;
    }

    /** Is told the answers per second of each run that counts. */
    default void measured(double answersPerSecond) {
    }
}
