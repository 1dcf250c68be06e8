package io.rdmaraw.tools.bench.server;

import io.rdmaraw.tools.server.ServerNetwork;
import java.util.ArrayList;
import java.util.List;

/** wrk, with a request at a time on each of a number of connections. */
final class Wrk implements LoadGenerator {
    private final int connections;

    Wrk(int connections) {
        this.connections = connections;
        ServerNetwork.require("wrk", "wrk");
    }

    @Override
    public String example() {
        return "http";
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
                "http://" + network.serverAddress() + ':' + port + "/plaintext"));
        String report = network.runClient(command.toArray(String[]::new));
        long wrong = report.contains("Non-2xx") ? Patterns.count("Non-2xx or 3xx responses: (\\d+)", report) : 0;
        return new Load(Patterns.count("(\\d+) requests in", report) - wrong, wrong + socketErrors(report),
                Patterns.micros(Patterns.find("50%\\s+(\\S+)", report)),
                Patterns.micros(Patterns.find("99%\\s+(\\S+)", report)));
    }

    private static long socketErrors(String report) {
        long sum = 0;
        if (report.contains("Socket errors")) {
            for (String kind : List.of("connect", "read", "write", "timeout")) {
                sum += Patterns.count(kind + " (\\d+)", report);
            }
        }
        return sum;
    }
}
