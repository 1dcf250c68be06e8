package io.rdmaraw.agent;

import static org.junit.jupiter.api.Assertions.assertEquals;
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
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Frameworks that select the channel classes themselves run with the agent and without any other part of this project.
 * Their peers are stock programs. At the end, the processes must have created only channels of this transport.
 */
@WithTestNetwork
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Timeout(180)
class FrameworksOverVethTest {
    private static final int ARMERIA = 8080;
    private static final int GRPC = 9090;
    private static final int STOCK_HTTP = 8090;
    private static final int REDIS = 6379;

    private final List<PeerProcess> processes = new ArrayList<>();
    private NetworkNamespace peer;
    private PeerProcess programs;
    private PeerProcess grpc;
    private String ours;
    private String grpcAddress;
    private boolean hasRedis;

    @BeforeAll
    void start(TestNetwork network, @TempDir Path directory) throws IOException {
        VethPair pair = network.vethPair(network.namespace(), network.namespace());
        peer = pair.peer().namespace();
        ours = pair.ours().ipv4();
        String theirs = pair.peer().ipv4();
        Files.writeString(directory.resolve("page"), "a page of the peer's");
        processes.add(peer.start("python3", "-m", "http.server", "-d", directory.toString(),
                String.valueOf(STOCK_HTTP)));
        String page = "http://" + theirs + ":" + STOCK_HTTP;
        Await.until("the stock server", () -> peer.attempt("curl", "-s", "-m", "2", page).exitCode() == 0);
        List<String> mains = new ArrayList<>(List.of(
                "program.AsyncHttpRequests;url=" + page + "/page",
                "program.ArmeriaServer;port=" + ARMERIA + ";url=" + page));
        hasRedis = peer.attempt("redis-server", "--version").exitCode() == 0;
        if (hasRedis) {
            processes.add(peer.start("redis-server", "--port", String.valueOf(REDIS), "--bind", theirs, "--save", "",
                    "--protected-mode", "no"));
            mains.add("program.RedisClients;redis=redis://" + theirs + ":" + REDIS);
        }
        AgentJar jar = new AgentJar(directory);
        VethPair grpcs = network.vethPair(network.namespace(), peer);
        grpcAddress = grpcs.ours().ipv4();
        grpc = grpcs.ours().namespace().start(AgentJar.java(List.of(jar.option("device=soft:xdp:"
                + grpcs.ours().name() + ",relocated=io.grpc.netty.shaded.io.netty"), "-Dgrpc.port=" + GRPC),
                "program.ShadedGrpc").toArray(String[]::new));
        processes.add(grpc);
        List<String> jvm = List.of(jar.option("device=soft:xdp:" + pair.ours().name()));
        programs = pair.ours().namespace().start(AgentJar.java(jvm, "program.Mains", mains.toArray(String[]::new))
                .toArray(String[]::new));
        processes.add(programs);
    }

    @AfterAll
    void end() {
        String output = programs == null ? "" : programs.output();
        String classes = programs == null ? "" : classesOf(programs);
        processes.reversed().forEach(PeerProcess::close);
        for (String kernels : List.of("nio.NioSocketChannel", "nio.NioServerSocketChannel", "nio.NioDatagramChannel",
                "epoll.EpollSocketChannel", "epoll.EpollServerSocketChannel", "epoll.EpollDatagramChannel",
                "uring.IoUringSocketChannel")) {
            assertFalse(classes.lines().anyMatch(line -> line.endsWith(kernels)), () -> kernels + "\n" + classes);
        }
        assertTrue(classes.contains("io.rdmaraw.channel.RdmaRawServerSocketChannel\n"), classes);
        assertTrue(classes.contains("io.rdmaraw.channel.RdmaRawSocketChannel\n"), classes);
        assertFalse(output.contains("LEAK"), output);
        assertFalse(output.contains("left as it is"), output);
    }

    /** Returns the class histogram of all objects, including garbage that has not been collected. */
    private String classesOf(PeerProcess process) {
        return process.isAlive() ? peer.run(Path.of(System.getProperty("java.home"), "bin", "jcmd").toString(),
                String.valueOf(process.pid()), "GC.class_histogram", "-all").output().replaceAll(" \\(.*\\)\n", "\n")
                : "";
    }

    private String curl(String... arguments) {
        List<String> command = new ArrayList<>(List.of("curl", "-s", "-S", "-m", "30", "--retry-connrefused", "--retry",
                "30", "--retry-delay", "1"));
        command.addAll(List.of(arguments));
        return peer.run(command.toArray(String[]::new)).output();
    }

    /** Armeria finds epoll's classes by name. */
    @Test
    void armeria() {
        String url = "http://" + ours + ":" + ARMERIA;
        assertEquals("hello", curl(url + "/hello"));
        assertEquals("hello", curl("--http2-prior-knowledge", url + "/hello"));
        assertEquals("a page of the peer's", curl(url + "/page"));
    }

    /** The channel factories of AsyncHttpClient declare NIO's and epoll's classes as return types. */
    @Test
    void asyncHttpClient() {
        programs.awaitOutput("AsyncHttpRequests ended", Await.PATIENCE);
        assertEquals(40, programs.output().lines().filter("AsyncHttpClient: 200"::equals).count());
    }

    @Test
    void grpcWithNettyInAnotherPackage() {
        List<String> client = AgentJar.java(List.of("-Dgrpc.port=" + GRPC), "program.ShadedGrpc",
                grpcAddress);
        grpc.awaitOutput("listening", Await.PATIENCE);
        assertTrue(peer.run(client.toArray(String[]::new)).output().contains("all answered"));
        String classes = classesOf(grpc);
        assertTrue(classes.contains("io.rdmaraw.channel.RdmaRawSocketChannel\n"), classes);
    }

    @Test
    void lettuceAndRedisson() {
        assumeTrue(hasRedis, "redis-server is not installed");
        programs.awaitOutput("RedisClients ended", Await.PATIENCE);
        assertTrue(programs.output().contains("Lettuce: 200"));
        assertTrue(programs.output().contains("Redisson: " + (1 << 20)));
    }
}
