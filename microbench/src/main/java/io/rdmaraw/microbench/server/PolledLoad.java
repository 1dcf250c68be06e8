package io.rdmaraw.microbench.server;

import com.fasterxml.jackson.databind.JsonNode;
import io.rdmaraw.microbench.process.JsonPeer;
import io.rdmaraw.tools.command.ToolException;
import io.rdmaraw.tools.run.JavaCommand;
import io.rdmaraw.tools.server.ServerNetwork;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.WeakHashMap;

/**
 * Runs a client that never sleeps, with one outstanding request on each connection. The client is a process of
 * {@link PolledClientCommand}.
 *
 * <p>With one connection, the latency is that of the server and the path. With many connections, most of it is queueing
 * time at a saturated server.
 */
final class PolledLoad implements LoadGenerator {
    private static final double PERCENT = 100;
    /**
     * Maximum share of the client's core that its JIT compiler may use. Beyond it, the compiler noticeably affects the
     * figures.
     */
    private static final double COMPILED_SHARE = 0.05;
    private static final double NANOS_PER_MICRO = 1e3;
    private static final double NANOS_PER_SECOND = 1e9;

    private final RequestKind kind;
    private final int connections;
    /** Client process of each server. It ends with the network. */
    private final Map<ServerNetwork, JsonPeer> clients;

    /**
     * @param clients client processes of this kind, shared by all numbers of connections so that each is warmed up only
     *                once
     */
    PolledLoad(RequestKind kind, int connections, Map<ServerNetwork, JsonPeer> clients) {
        this.kind = kind;
        this.connections = connections;
        this.clients = clients;
    }

    /** Returns one load for each number of connections. */
    static List<LoadGenerator> of(RequestKind kind, List<Integer> connections) {
        Map<ServerNetwork, JsonPeer> clients = new WeakHashMap<>();
        return connections.stream().<LoadGenerator>map(each -> new PolledLoad(kind, each, clients)).toList();
    }

    @Override
    public List<String> serverCommand() {
        return kind.serverCommand();
    }

    @Override
    public String caseName() {
        return kind.caseName("polled") + ".conns" + connections;
    }

    @Override
    public Load run(ServerNetwork network, List<String> prefix, int port, double seconds) {
        JsonPeer client = clients.computeIfAbsent(network, _ -> start(network, prefix, port));
        return read(client.ask(connections + " " + seconds));
    }

    private JsonPeer start(ServerNetwork network, List<String> prefix, int port) {
        List<String> command = new ArrayList<>(prefix);
        command.addAll(JavaCommand.of("io.rdmaraw.microbench.Main"));
        command.addAll(List.of("bench", "polled-client", "--device", "soft:xdp:" + network.clientInterface(),
                "--address", network.serverAddress(), "--port", Integer.toString(port), "--kind", kind.text(),
                "--server-core", Integer.toString(ServerBench.SERVER_CORE)));
        return new JsonPeer(network.clientSide().start(command.toArray(String[]::new)));
    }

    /**
     * Parses an answer of the client.
     *
     * @throws ToolException if no request was answered
     */
    static Load read(JsonNode json) {
        long answered = json.required("answered").asLong();
        if (answered == 0) {
            throw new ToolException("no request was answered: " + json);
        }
        Map<Measure, Double> figures = new EnumMap<>(Measure.class);
        double seconds = json.required("nanos").asDouble() / NANOS_PER_SECOND;
        double serverSeconds = json.required("serverSeconds").asDouble();
        figures.put(Measure.RATE, answered / seconds);
        figures.put(Measure.PER_SERVER_CPU, answered / serverSeconds);
        figures.put(Measure.SERVER_CPU, PERCENT * serverSeconds / seconds);
        figures.put(Measure.P50, json.required("p50Nanos").asDouble() / NANOS_PER_MICRO);
        figures.put(Measure.P99, json.required("p99Nanos").asDouble() / NANOS_PER_MICRO);
        figures.put(Measure.P999, json.required("p999Nanos").asDouble() / NANOS_PER_MICRO);
        // The client polls, so the busy time of its core is meaningless. WAITED would include the time before the
        // measurement.
        figures.put(Measure.PER_MACHINE_CPU, Double.NaN);
        figures.put(Measure.WAITED, Double.NaN);
        return new Load(answered, json.required("wrong").asLong(), Double.NaN, figures,
                warning(json.required("compiledSeconds").asDouble() / seconds));
    }

    private static String warning(double compiledShare) {
        return compiledShare <= COMPILED_SHARE ? null : String.format(Locale.ROOT,
                "the JIT compiler of the client used %.0f %% of its core", PERCENT * compiledShare);
    }
}
