package io.rdmaraw.agent;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

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
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Netty's example clients run with the agent at one end of a veth pair. Their servers run at the other end:
 * redis-server, memcached, dnsmasq and, for broadcasts, Netty's unmodified example.
 */
@WithTestNetwork
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Timeout(180)
class NettyExampleClientsOverVethTest {
    private static final String EXAMPLE = "io.netty.example.";
    private static final int REDIS = 6379;
    private static final int MEMCACHED = 11211;
    private static final int QUOTES = 7686;
    /** The name server that the examples use. The peer has this address here, and no route to other hosts. */
    private static final String NAME_SERVER = "8.8.8.8";
    private static final String ANSWER = "192.0.2.7";

    private final List<PeerProcess> processes = new ArrayList<>();
    private NetworkNamespace peer;
    private PeerProcess clients;
    private boolean hasRedis;
    private boolean hasMemcached;
    private boolean hasNameServer;

    private boolean has(String program) {
        return peer.attempt("sh", "-c", "command -v " + program).exitCode() == 0;
    }

    private void serve(String... command) {
        processes.add(peer.start(command));
    }

    private void awaitServer(String host, int port) {
        Await.until("a server on port " + port, () -> peer.attempt("bash", "-c",
                "exec 3<>/dev/tcp/" + host + "/" + port).exitCode() == 0);
    }

    @BeforeAll
    void start(TestNetwork network, @TempDir Path directory) throws IOException {
        VethPair pair = network.vethPair(network.namespace(), network.namespace());
        peer = pair.peer().namespace();
        String theirs = pair.peer().ipv4();
        List<String> programs = new ArrayList<>();
        hasRedis = has("redis-server");
        if (hasRedis) {
            serve("redis-server", "--port", String.valueOf(REDIS), "--bind", theirs, "--save", "", "--protected-mode",
                    "no");
            awaitServer(theirs, REDIS);
            programs.add(EXAMPLE + "redis.RedisClient;port=" + REDIS + ";host=" + theirs
                    + ";console=set key a-value-of-redis|get key");
        }
        hasMemcached = has("memcached");
        if (hasMemcached) {
            serve("memcached", "-u", "root", "-p", String.valueOf(MEMCACHED), "-l", theirs);
            awaitServer(theirs, MEMCACHED);
            programs.add(EXAMPLE + "memcache.binary.MemcacheClient;port=" + MEMCACHED + ";host=" + theirs
                    + ";console=set key a value of memcached|get key");
        }
        hasNameServer = has("dnsmasq");
        if (hasNameServer) {
            peer.run("ip", "address", "add", NAME_SERVER + "/32", "dev", pair.peer().name());
            pair.ours().namespace().run("ip", "route", "add", NAME_SERVER + "/32", "via", theirs);
            serve("dnsmasq", "--keep-in-foreground", "--conf-file=/dev/null", "--no-resolv", "--no-hosts",
                    "--user=root", "--pid-file=", "--bind-interfaces", "--listen-address=" + NAME_SERVER,
                    "--address=/www.example.com/" + ANSWER);
            awaitServer(NAME_SERVER, 53);
            programs.addAll(List.of(EXAMPLE + "dns.udp.DnsClient", EXAMPLE + "dns.tcp.TcpDnsClient"));
        }
        PeerProcess stock = peer.start(AgentJar.java(List.of(), "program.Mains",
                EXAMPLE + "qotm.QuoteOfTheMomentServer;port=" + QUOTES).toArray(String[]::new));
        processes.add(stock);
        Await.until("the quotes", () -> peer.run("ss", "-Hnul", "sport", "=", ":" + QUOTES).output()
                .contains(":" + QUOTES));
        programs.add(EXAMPLE + "qotm.QuoteOfTheMomentClient;port=" + QUOTES);
        clients = pair.ours().namespace().start(AgentJar.java(List.of(new AgentJar(directory)
                .option("device=soft:xdp:" + pair.ours().name())), "program.Mains", programs.toArray(String[]::new))
                .toArray(String[]::new));
        processes.add(clients);
    }

    @AfterAll
    void end() {
        String output = clients == null ? "" : clients.output();
        processes.reversed().forEach(PeerProcess::close);
        assertTrue(output.contains("rdma-raw agent: on, with Netty 4.2"), output);
        assertFalse(output.contains("LEAK") || output.contains("left as it is"), output);
    }

    @Test
    void redis() {
        assumeTrue(hasRedis, "redis-server is not installed");
        clients.awaitOutput("a-value-of-redis", Await.PATIENCE);
    }

    @Test
    void memcached() {
        assumeTrue(hasMemcached, "memcached is not installed");
        clients.awaitOutput("a value of memcached", Await.PATIENCE);
    }

    @Test
    void namesByUdpAndTcp() {
        assumeTrue(hasNameServer, "dnsmasq is not installed");
        clients.awaitOutput("dns.udp.DnsClient ended", Await.PATIENCE);
        clients.awaitOutput("dns.tcp.TcpDnsClient ended", Await.PATIENCE);
        assertTrue(clients.output().lines().filter(ANSWER::equals).count() == 2, clients::output);
    }

    /** The request is sent to 255.255.255.255. */
    @Test
    void quoteByBroadcast() {
        clients.awaitOutput("Quote of the Moment: ", Await.PATIENCE);
    }
}
