package io.rdmaraw.microbench.server;

import io.rdmaraw.tools.server.ServerNetwork;
import java.util.List;
import java.util.Map;

/** A client program that sends requests to a server, at full speed or at a fixed rate. */
interface LoadGenerator {
    /**
     * The result of one run.
     *
     * @param answers     number of correct answers
     * @param lost        number of requests without a correct answer
     * @param loadSeconds duration of the load, or NaN if it equals the run time of the program
     * @param figures     other figures that the program measures
     * @param warningOrNull sentence that explains how the generator itself affected the figures, or null
     */
    record Load(long answers, long lost, double loadSeconds, Map<Measure, Double> figures, String warningOrNull) {
    }

    /** Returns the command line of the server, to which options can be appended. */
    List<String> serverCommand();

    /** Returns the command-line options of the server that select a transport. */
    default String[] options(ServerTransport transport, String networkInterface) {
        return transport.options(networkInterface);
    }

    /** Returns the name of the case. Scripts rely on it. */
    String caseName();

    /**
     * Runs the program once.
     *
     * @param prefix  prefix of the command line, such as {@code taskset -c 0}
     * @param port    port of the server
     * @param seconds duration of the run
     */
    Load run(ServerNetwork network, List<String> prefix, int port, double seconds);

    /** Returns whether the program can run before any measurement, in order to warm the server up. */
    default boolean warmsUp() {
        return true;
    }

    /** Returns the duration of a warm-up run. It must suffice for answers of code that is not compiled yet. */
    default double warmUpSeconds() {
        return 1;
    }

    /** Receives the result of each run that counts, in answers per second. */
    default void measured(double answersPerSecond) {
    }

    /** Returns whether the bench samples a profile of the server's loops under this load. */
    default boolean reportsShares() {
        return false;
    }
}
