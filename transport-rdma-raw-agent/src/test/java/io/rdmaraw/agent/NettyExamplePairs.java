package io.rdmaraw.agent;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import io.rdmaraw.testsuite.net.Await;
import io.rdmaraw.testsuite.net.NetworkNamespace;
import io.rdmaraw.testsuite.net.PeerProcess;
import io.rdmaraw.testsuite.net.TestNetwork;
import io.rdmaraw.testsuite.net.VethPair;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Runs those of Netty's examples that consist of a server and a client. The agent is at the server's side of a veth
 * pair, then at the client's side. The other side runs without it.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
abstract class NettyExamplePairs {
    private static final String EXAMPLE = "io.netty.example.";

    /**
     * A server and its client.
     *
     * @param says       text that the client prints on success, not always the last one: some print the same text at
     *     their end even without a reply. Null for clients that never end
     * @param serverSays text that the server prints then; may be empty
     * @param console    lines for the client's standard input, separated by a bar
     * @param tls        whether both use TLS, which a property selects
     */
    record Pair(int port, String server, String client, String says, String serverSays, String console, boolean tls) {
        Pair(int port, String server, String client, String says) {
            this(port, server, client, says, "", "");
        }

        Pair(int port, String server, String client, String says, String serverSays, String console) {
            this(port, server, client, says, serverSays, console, false);
        }

        Pair withTls() {
            return new Pair(port, server, client, says, serverSays, console, true);
        }

        String serverArgument() {
            return EXAMPLE + server + ";port=" + port + (tls ? ";ssl=" : "");
        }

        String clientArgument(String host, Path file) {
            // Netty's decompression handler accepts 64 KiB at a time. The default number of factorials exceeds that.
            return EXAMPLE + client + ";port=" + port + ";host=" + host + ";file=" + file + ";count=100"
                    + ";baseUrl=http://" + host + ':' + port + "/;url=ws://" + host + ':' + port + "/websocket"
                    + ";console=" + console + (tls ? ";ssl=" : "");
        }
    }

    private final List<Pair> pairs;
    private final List<PeerProcess> processes = new ArrayList<>();
    NetworkNamespace peer;
    private VethPair servers;
    private VethPair clients;
    private Path file;
    private String agent;
    private PeerProcess serversWithAgent;
    private PeerProcess stockServers;
    private PeerProcess stockClients;
    private PeerProcess clientsWithAgent;

    NettyExamplePairs(List<Pair> pairs) {
        this.pairs = pairs;
    }

    private static String[] arguments(List<Pair> pairs, Function<Pair, String> argument) {
        return pairs.stream().map(argument).toArray(String[]::new);
    }

    @BeforeAll
    void start(TestNetwork network, @TempDir Path directory) throws IOException {
        servers = network.vethPair(network.namespace(), network.namespace());
        peer = servers.peer().namespace();
        clients = network.vethPair(network.namespace(), peer);
        file = Files.write(directory.resolve("file"), new byte[100_000]);
        AgentJar jar = new AgentJar(directory);
        agent = jar.option("device=soft:xdp:" + clients.ours().name());
        serversWithAgent = run(servers.ours().namespace(), List.of(jar.option("device=soft:xdp:"
                + servers.ours().name())), arguments(pairs, Pair::serverArgument));
        stockServers = run(peer, List.of(), arguments(pairs, Pair::serverArgument));
        awaitServers(servers.ours().ipv4());
        awaitServers(clients.peer().ipv4());
        List<Pair> ending = pairs.stream().filter(pair -> pair.says != null).toList();
        stockClients = runStockClients(ending);
        clientsWithAgent = runClientsWithAgent(ending);
    }

    private PeerProcess run(NetworkNamespace namespace, List<String> options, String[] programs) {
        PeerProcess process = namespace.start(AgentJar.java(options, "program.Mains", programs)
                .toArray(String[]::new));
        processes.add(process);
        return process;
    }

    PeerProcess runStockClients(List<Pair> pairs) {
        return run(peer, List.of(), arguments(pairs, pair -> pair.clientArgument(servers.ours().ipv4(), file)));
    }

    PeerProcess runClientsWithAgent(List<Pair> pairs) {
        return run(clients.ours().namespace(), List.of(agent),
                arguments(pairs, pair -> pair.clientArgument(clients.peer().ipv4(), file)));
    }

    /** Waits until the servers accept connections from the peer, which also reaches its own servers. */
    private void awaitServers(String host) {
        for (Pair pair : pairs) {
            Await.until(pair.server + " on " + host, Await.PATIENCE.multipliedBy(2), () -> peer.attempt("bash", "-c",
                    "exec 3<>/dev/tcp/" + host + "/" + pair.port).exitCode() == 0);
        }
    }

    @AfterAll
    void end() {
        String output = Stream.of(serversWithAgent, clientsWithAgent).map(process -> process == null ? ""
                : process.output()).reduce("", String::concat);
        processes.reversed().forEach(PeerProcess::close);
        assertFalse(output.contains("LEAK"), output);
        assertFalse(output.contains("left as it is"), output);
    }

    private void assertAllSaid(PeerProcess clients, PeerProcess servers) {
        // Two pairs may share a client, so count how often each text is printed.
        Map<String, Long> said = pairs.stream().filter(pair -> pair.says != null)
                .collect(Collectors.groupingBy(Pair::says, Collectors.counting()));
        said.forEach((text, times) -> Await.until('\'' + text + "', " + times + " times", () -> {
            assertFalse(clients.output().lines().anyMatch(line -> line.endsWith(" failed")), clients::output);
            return clients.output().split(Pattern.quote(text), -1).length > times;
        }));
        pairs.forEach(pair -> servers.awaitOutput(pair.serverSays, Await.PATIENCE));
    }

    @Test
    void stockClientsOfServersWithTheAgent() {
        assertAllSaid(stockClients, serversWithAgent);
    }

    @Test
    void clientsWithTheAgentOfStockServers() {
        assertAllSaid(clientsWithAgent, stockServers);
    }

    @Test
    void agentReportsTheChangedClasses() {
        for (PeerProcess process : List.of(serversWithAgent, clientsWithAgent)) {
            process.awaitOutput("rdma-raw agent: on, with Netty 4.2", Await.PATIENCE);
            assertEquals(-1, process.output().indexOf("left as it is"), process::output);
        }
    }
}
