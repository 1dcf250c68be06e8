package io.rdmaraw.microbench.server;

import io.rdmaraw.tools.command.ToolException;
import io.rdmaraw.tools.server.ServerNetwork;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.WeakHashMap;

/** Runs redis-benchmark, which gets a value of three bytes, with one outstanding request on each connection. */
final class RedisBenchmark implements LoadGenerator {
    /** Assumed rate of the first run. redis-benchmark accepts a number of requests but no duration. */
    private static final double FIRST_RATE = 60_000;
    private static final double MILLI_MICROS = 1000;

    private final int connections;
    /**
     * Rate of each server in its last run, in answers per second. A server without an entry has no value for the key
     * yet.
     */
    private final Map<ServerNetwork, Double> rates = new WeakHashMap<>();

    RedisBenchmark(int connections) {
        this.connections = connections;
        ServerNetwork.require("redis-benchmark", "redis-tools");
    }

    @Override
    public List<String> serverCommand() {
        return ServerNetwork.exampleCommand("redis");
    }

    @Override
    public String caseName() {
        return "redis.conns" + connections;
    }

    @Override
    public Load run(ServerNetwork network, List<String> prefix, int port, double seconds) {
        if (!rates.containsKey(network)) {
            ask(network, prefix, port, "set", 1, 1);
        }
        long requests = Math.max(connections, Math.round(seconds * rates.getOrDefault(network, FIRST_RATE)));
        Load load = read(ask(network, prefix, port, "get", connections, requests), requests);
        rates.put(network, load.figures().get(Measure.RATE));
        return load;
    }

    private static String ask(ServerNetwork network, List<String> prefix, int port, String command, int connections,
            long requests) {
        List<String> words = new ArrayList<>(prefix);
        words.addAll(List.of("redis-benchmark", "-h", network.serverAddress(), "-p", Integer.toString(port), "-t",
                command, "-c", Integer.toString(connections), "-n", Long.toString(requests), "--csv"));
        return network.runClient(words.toArray(String[]::new));
    }

    /**
     * Parses the table of redis-benchmark.
     *
     * @throws ToolException if the text has no such table
     */
    static Load read(String report, long requests) {
        String number = "\"([0-9.]+)\"";
        String row = "(?m)^\"GET\"," + number + ',' + number + ',' + number + ',' + number + ',' + number + ','
                + number + ',';
        // Columns: requests per second, then mean, minimum, p50, p95 and p99 latency in milliseconds.
        double rate = Double.parseDouble(Patterns.find(row, 1, report));
        double p50 = Double.parseDouble(Patterns.find(row, 4, report));
        double p99 = Double.parseDouble(Patterns.find(row, 6, report));
        // redis-benchmark stops at the first error, so all requests were answered.
        return new Load(requests, 0, requests / rate, Map.of(Measure.RATE, rate, Measure.P50, p50 * MILLI_MICROS,
                Measure.P99, p99 * MILLI_MICROS), null);
    }
}
