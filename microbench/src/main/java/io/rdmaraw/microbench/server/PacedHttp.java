package io.rdmaraw.microbench.server;

import io.rdmaraw.microbench.process.NativeProgram;
import io.rdmaraw.tools.server.ServerNetwork;
import java.util.ArrayList;
import java.util.List;

/**
 * Sends HTTP requests at the same rate to every transport, with {@code http-bench}, a C program on ordinary kernel
 * sockets.
 */
final class PacedHttp implements LoadGenerator {
    /** The share of a run whose requests do not count, because connections are new. */
    private static final double SETTLE_SHARE = 0.2;

    private final int connections;
    private final EqualLoad load;
    private final int percent;
    private final String program = NativeProgram.find("http-bench");

    /** @param percent of the load */
    PacedHttp(int connections, EqualLoad load, int percent) {
        this.connections = connections;
        this.load = load;
        this.percent = percent;
    }

    @Override
    public List<String> serverCommand() {
        return ServerNetwork.exampleCommand("http");
    }

    @Override
    public String caseName() {
        return "http.paced.conns" + connections + ".load" + percent;
    }

    /** The rate comes from the results of other generators. */
    @Override
    public boolean warmsUp() {
        return false;
    }

    @Override
    public Load run(ServerNetwork network, List<String> prefix, int port, double seconds) {
        double settleSeconds = SETTLE_SHARE * seconds;
        List<String> command = new ArrayList<>(prefix);
        command.addAll(List.of(program, "--address", network.serverAddress(), "--port", Integer.toString(port),
                "--path", HttpShape.PLAINTEXT.path(), "--connections", Integer.toString(connections), "--rate",
                Double.toString(load.perSecond(percent)), "--seconds", Double.toString(seconds), "--settle",
                Double.toString(settleSeconds)));
        return PacedReport.read(network.runClient(command.toArray(String[]::new)), seconds, settleSeconds);
    }
}
