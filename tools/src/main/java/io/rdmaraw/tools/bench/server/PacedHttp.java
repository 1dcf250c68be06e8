package io.rdmaraw.tools.bench.server;

import io.rdmaraw.tools.ToolException;
import io.rdmaraw.tools.server.ServerNetwork;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * HTTP requests at a rate that is the same for every transport, by {@code http-bench}, a program in C on ordinary
 * sockets of the kernel.
 */
final class PacedHttp implements LoadGenerator {
    /** Of a run: the first requests of new connections do not count. */
    private static final double SETTLE_SHARE = 0.2;

    private final int connections;
    private final EqualLoad load;
    private final int percent;
    private final Path program = Path.of(System.getProperty("rdmaraw.home", "."),
            "transport-rdma-raw-native/target/native/http-bench");

    /** @param percent of the load */
    PacedHttp(int connections, EqualLoad load, int percent) {
        this.connections = connections;
        this.load = load;
        this.percent = percent;
        if (!Files.isExecutable(program)) {
            throw new ToolException("the C program " + program
                    + " is missing: run the bench by ./rdma-raw bench, which builds it");
        }
    }

    @Override
    public String example() {
        return "http";
    }

    @Override
    public String caseName() {
        return "http.paced.conns" + connections + ".load" + percent;
    }

    /** What its rate is, other generators find out. */
    @Override
    public boolean warmsUp() {
        return false;
    }

    @Override
    public Load run(ServerNetwork network, List<String> prefix, int port, double seconds) {
        double settleSeconds = SETTLE_SHARE * seconds;
        List<String> command = new ArrayList<>(prefix);
        command.addAll(List.of(program.toAbsolutePath().toString(), "--address", network.serverAddress(), "--port",
                Integer.toString(port), "--path", Wrk.PATH, "--connections", Integer.toString(connections), "--rate",
                Double.toString(load.perSecond(percent)), "--seconds", Double.toString(seconds), "--settle",
                Double.toString(settleSeconds)));
        return PacedReport.read(network.runClient(command.toArray(String[]::new)), seconds, settleSeconds);
    }
}
