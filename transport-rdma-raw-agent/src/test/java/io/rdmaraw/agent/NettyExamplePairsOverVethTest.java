package io.rdmaraw.agent;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmaraw.testsuite.net.Await;
import io.rdmaraw.testsuite.net.NetworkNamespace;
import io.rdmaraw.testsuite.net.PeerProcess;
import io.rdmaraw.testsuite.net.TestNetwork;
import io.rdmaraw.testsuite.net.VethPair;
import io.rdmaraw.testsuite.net.WithTestNetwork;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import java.util.stream.Stream;

/**
 * Those of Netty's own examples that are a server and a client: with the agent on one side of a veth pair, which is the
 * server's and then the client's, and as they are on the other.
 */
@WithTestNetwork
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Timeout(300)
class NettyExamplePairsOverVethTest {
    private static final String EXAMPLE = "io.netty.example.";

    /**
     * A server and its client.
     *
     * @param says what the client prints when it has got what it wants; null of those that never end
     */
    private record Pair(int port, String server, String client, String says) {
        String serverArgument() {
            return EXAMPLE + server + ";port=" + port;
        }

        String clientArgument(String host, Path file) {
            // Netty's decoder of compressed answers takes 64 KiB at a time: fewer factorials than by default fit.
            return EXAMPLE + client + ";port=" + port + ";host=" + host + ";file=" + file + ";count=100"
                    + ";baseUrl=http://" + host + ':' + port + '/';
        }
    }

    private static final List<Pair> PAIRS = List.of(
            new Pair(8101, "echo.EchoServer", "echo.EchoClient", null),
            new Pair(8102, "discard.DiscardServer", "discard.DiscardClient", null),
            new Pair(8103, "objectecho.ObjectEchoServer", "objectecho.ObjectEchoClient", null),
            new Pair(8104, "factorial.FactorialServer", "factorial.FactorialClient", "factorial.FactorialClient ended"),
            new Pair(8105, "worldclock.WorldClockServer", "worldclock.WorldClockClient", "Europe/"),
            new Pair(8107, "uptime.UptimeServer", "uptime.UptimeClient", "Connected to: "),
            new Pair(8108, "http.upload.HttpUploadServer", "http.upload.HttpUploadClient", "HttpUploadClient ended"),
            new Pair(8109, "http2.helloworld.server.Http2Server", "http2.helloworld.client.Http2Client",
                    "Finished HTTP/2 request(s)"),
            new Pair(8110, "http2.helloworld.frame.server.Http2Server",
                    "http2.helloworld.frame.client.Http2FrameClient", "Finished HTTP/2 request, will close"));

    private final List<PeerProcess> processes = new ArrayList<>();
    private NetworkNamespace peer;
    private VethPair servers;
    private VethPair clients;
    private Path file;
    private String agent;
    private PeerProcess serversWithAgent;
    private PeerProcess stockClients;
    private PeerProcess clientsWithAgent;

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
                + servers.ours().name())), arguments(PAIRS, Pair::serverArgument));
        run(peer, List.of(), arguments(PAIRS, Pair::serverArgument));
        awaitServers(servers.ours().ipv4());
        awaitServers(clients.peer().ipv4());
        List<Pair> ending = PAIRS.stream().filter(pair -> pair.says != null).toList();
        stockClients = runStockClients(ending);
        clientsWithAgent = runClientsWithAgent(ending);
    }

    private PeerProcess run(NetworkNamespace namespace, List<String> options, String[] programs) {
        PeerProcess process = namespace.start(AgentJar.java(options, "program.Mains", programs)
                .toArray(String[]::new));
        processes.add(process);
        return process;
    }

    private PeerProcess runStockClients(List<Pair> pairs) {
        return run(peer, List.of(), arguments(pairs, pair -> pair.clientArgument(servers.ours().ipv4(), file)));
    }

    private PeerProcess runClientsWithAgent(List<Pair> pairs) {
        return run(clients.ours().namespace(), List.of(agent),
                arguments(pairs, pair -> pair.clientArgument(clients.peer().ipv4(), file)));
    }

    /** Asked from the peer, which reaches its own servers too. */
    private void awaitServers(String host) {
        for (Pair pair : PAIRS) {
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

    private static void assertAllSaid(PeerProcess clients) {
        for (Pair pair : PAIRS) {
            if (pair.says != null) {
                clients.awaitOutput(pair.says, Await.PATIENCE);
            }
        }
        assertFalse(clients.output().lines().anyMatch(line -> line.endsWith(" failed")), clients::output);
    }

    @Test
    void stockClientsOfServersWithTheAgent() {
        assertAllSaid(stockClients);
    }

    @Test
    void clientsWithTheAgentOfStockServers() {
        assertAllSaid(clientsWithAgent);
    }

    /** They say nothing: the peer's kernel counts what it has got of each, as client and as server. */
    @Test
    void clientsThatNeverEnd() {
        List<Pair> endless = PAIRS.stream().filter(pair -> pair.says == null).toList();
        try (PeerProcess stock = runStockClients(endless); PeerProcess withAgent = runClientsWithAgent(endless)) {
            for (String side : List.of("dport", "sport")) {
                for (Pair pair : endless) {
                    Await.until("bytes by " + side + ' ' + pair.port, () -> bytesAcked(side, pair.port) > 1_000);
                }
            }
            assertFalse((stock.output() + withAgent.output()).contains(" failed"));
        }
    }

    private long bytesAcked(String side, int port) {
        String sockets = peer.run("ss", "-Htin", "state", "established", side, "=", ":" + port).output();
        return Stream.of(sockets.split("\\s+")).filter(word -> word.startsWith("bytes_acked:")
                || word.startsWith("bytes_received:"))
                .mapToLong(word -> Long.parseLong(word.substring(word.indexOf(':') + 1))).sum();
    }

    @Test
    void theAgentSaysWhatItDid() {
        for (PeerProcess process : List.of(serversWithAgent, clientsWithAgent)) {
            assertTrue(process.output().contains("rdma-raw agent: on, with Netty 4.2"), process::output);
            assertEquals(-1, process.output().indexOf("left as it is"), process::output);
        }
    }
}
