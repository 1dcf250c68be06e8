package io.rdmaraw.microbench.server;

import io.rdmaraw.tools.server.ServerNetwork;
import java.util.ArrayList;
import java.util.List;

/** Runs wrk, with one request at a time on each of a number of connections. */
final class Wrk implements LoadGenerator {
    static final String PATH = "/plaintext";

    private final int connections;
    private final EqualLoad load;

    /** @param load learns what the server answers */
    Wrk(int connections, EqualLoad load) {
        this.connections = connections;
        this.load = load;
        ServerNetwork.require("wrk", "wrk");
    }

    @Override
    public List<String> serverCommand() {
        return ServerNetwork.exampleCommand("http");
    }

    @Override
    public String caseName() {
        return "http.plaintext.conns" + connections;
    }

    @Override
    public Load run(ServerNetwork network, List<String> prefix, int port, double seconds) {
        List<String> command = new ArrayList<>(prefix);
        command.addAll(List.of("wrk", "--latency", "-t1", "-c" + connections,
                "-d" + Math.max(1, Math.round(seconds)) + 's',
                "http://" + network.serverAddress() + ':' + port + PATH));
        return WrkReport.read(network.runClient(command.toArray(String[]::new)));
    }

    @Override
    public void measured(double answersPerSecond) {
        load.answered(answersPerSecond);
    }
}
