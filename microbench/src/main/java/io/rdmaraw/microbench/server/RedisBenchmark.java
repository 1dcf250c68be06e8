package io.rdmaraw.microbench.server;

import io.rdmaraw.tools.command.ToolException;
import io.rdmaraw.tools.server.ServerNetwork;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.WeakHashMap;

/** Runs redis-benchmark: GET of three bytes, one at a time on each of a number of connections. */
final class RedisBenchmark implements LoadGenerator {
    /** redis-benchmark has no option for a time: of a server that has not been asked yet so many may take a second. */
    private static final double FIRST_RATE = 60_000;
    private static final double MILLI_MICROS = 1000;

    private final int connections;
    /** What each server answered in a second when it was asked last. Its key has its value by then. */
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
     * Reads its table.
     *
     * @throws ToolException when it is none
     */
    static Load read(String report, long requests) {
        String number = "\"([0-9.]+)\"";
        String row = "(?m)^\"GET\"," + number + ',' + number + ',' + number + ',' + number + ',' + number + ','
                + number + ',';
        // rps, mean, least, p50, p95, p99
        double rate = Double.parseDouble(Patterns.find(row, 1, report));
        double p50 = Double.parseDouble(Patterns.find(row, 4, report));
        double p99 = Double.parseDouble(Patterns.find(row, 6, report));
        // It ends at the first error, so all have been answered.
        return new Load(requests, 0, requests / rate, Map.of(Measure.RATE, rate, Measure.P50, p50 * MILLI_MICROS,
                Measure.P99, p99 * MILLI_MICROS), null);
    }
}
