package io.rdmaraw.microbench.server;

import io.rdmaraw.tools.server.ServerNetwork;
import java.util.List;
import java.util.Map;

/** A client program that sends requests to a server, at full speed or at a fixed rate. */
interface LoadGenerator {
    /**
     * The result of one run.
     *
     * @param answers      right answers
     * @param lost         questions without a right answer
     * @param loadSeconds  how long it asked, or NaN for as long as the program ran
     * @param figures      what the program tells besides
     * @param doubtOrNull  why the figures tell of the generator and not only of the server, as a sentence
     */
    record Load(long answers, long lost, double loadSeconds, Map<Measure, Double> figures, String doubtOrNull) {
    }

    /** Returns the command of the server, to which options can be added. */
    List<String> serverCommand();

    /** Returns the options by which the server has a transport. */
    default String[] options(ServerTransport transport, String networkInterface) {
        return transport.options(networkInterface);
    }

    /** Returns the name of the case, which scripts read. */
    String caseName();

    /**
     * Runs the program once.
     *
     * @param prefix what its command begins with
     */
    Load run(ServerNetwork network, List<String> prefix, int port, double seconds);

    /** Returns whether the program can run before anything has been measured, to warm the server up. */
    default boolean warmsUp() {
        return true;
    }

    /** Returns how long it runs at a time to warm the server up: long enough for answers of code not compiled yet. */
    default double warmUpSeconds() {
        return 1;
    }

    /** Receives the answers per second of each run that counts. */
    default void measured(double answersPerSecond) {
    }

    /** Returns whether it is to be told where the time of the server's loops goes under its load. */
    default boolean wantsShares() {
        return false;
    }
}
