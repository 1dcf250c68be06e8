package io.rdmaraw.microbench.server;

import io.rdmaraw.tools.server.ServerNetwork;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Runs dnsperf with queries for names that exist and for one that does not exist. */
final class Dnsperf implements LoadGenerator {
    private static final String QUERIES = """
            www.example.test A
            www.example.test AAAA
            text.example.test TXT
            nobody.example.test A
            """;
    static final int OUTSTANDING = 200;
    /**
     * Timeout of a query. Kernel sockets lose some queries, and the default timeout of 5 seconds is longer than a run.
     */
    private static final String TIMEOUT_SECONDS = "1";

    private final Path queries;

    Dnsperf() {
        ServerNetwork.require("dnsperf", "dnsperf");
        try {
            queries = Files.writeString(Files.createTempFile("rdma-raw-dns", ".queries"), QUERIES);
            queries.toFile().deleteOnExit();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public List<String> serverCommand() {
        return ServerNetwork.exampleCommand("dns");
    }

    @Override
    public String caseName() {
        return "dns";
    }

    @Override
    public Load run(ServerNetwork network, List<String> prefix, int port, double seconds) {
        List<String> command = new ArrayList<>(prefix);
        command.addAll(List.of("dnsperf", "-s", network.serverAddress(), "-p", Integer.toString(port), "-d",
                queries.toString(), "-l", Long.toString(Math.max(1, Math.round(seconds))), "-t",
                TIMEOUT_SECONDS, "-q", Integer.toString(OUTSTANDING)));
        String report = network.runClient(command.toArray(String[]::new));
        return new Load(Patterns.count("Queries completed:\\s+(\\d+)", report),
                Patterns.count("Queries lost:\\s+(\\d+)", report), Double.NaN, Map.of(), null);
    }
}
