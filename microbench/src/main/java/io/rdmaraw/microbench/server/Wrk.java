package io.rdmaraw.microbench.server;

import io.rdmaraw.tools.server.ServerNetwork;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Runs wrk with a number of connections. */
final class Wrk implements LoadGenerator {
    /** Minimum duration of a run with TLS, because each run includes the handshakes of all connections. */
    private static final double TLS_LEAST_SECONDS = 8;

    private final HttpTls tls;
    private final HttpShape shape;
    private final int connections;
    private final EqualLoad load;
    /** Lua script, or null if the shape needs none. */
    private final Path script;

    /** @param load receives the measured rate of the server */
    Wrk(HttpTls tls, HttpShape shape, int connections, EqualLoad load) {
        this.tls = tls;
        this.shape = shape;
        this.connections = connections;
        this.load = load;
        script = shape.scriptFileOrNull();
        ServerNetwork.require("wrk", "wrk");
    }

    @Override
    public List<String> serverCommand() {
        return tls.serverCommand();
    }

    @Override
    public String caseName() {
        return tls.casePrefix() + shape.text() + ".conns" + connections;
    }

    @Override
    public Load run(ServerNetwork network, List<String> prefix, int port, double seconds) {
        List<String> command = new ArrayList<>(prefix);
        command.addAll(List.of("wrk", "--latency", "-t1", "-c" + connections,
                "-d" + Math.max(1, Math.round(lasting(seconds))) + 's'));
        if (script != null) {
            command.addAll(List.of("-s", script.toString()));
        }
        command.add(tls.scheme() + "://" + network.serverAddress() + ':' + port + shape.path());
        return WrkReport.read(network.runClient(command.toArray(String[]::new)));
    }

    @Override
    public double warmUpSeconds() {
        return lasting(1);
    }

    private double lasting(double seconds) {
        return tls == HttpTls.NONE ? seconds : Math.max(seconds, TLS_LEAST_SECONDS);
    }

    @Override
    public void measured(double answersPerSecond) {
        load.answered(answersPerSecond);
    }
}
