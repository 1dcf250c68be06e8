package io.rdmaraw.micronaut;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmaraw.testsuite.net.Await;
import io.rdmaraw.testsuite.net.NetworkNamespace;
import io.rdmaraw.testsuite.net.PeerProcess;
import io.rdmaraw.testsuite.net.TestNetwork;
import io.rdmaraw.testsuite.net.VethPair;
import io.rdmaraw.testsuite.net.WithTestNetwork;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/** An application of Micronaut with this module and one property more, asked by curl over a veth pair. */
@WithTestNetwork
@Timeout(300)
class MicronautOverVethTest {
    private static final int PORT = 8080;
    private static final int STOCK_PORT = 8090;

    private NetworkNamespace peer;

    private String curl(String... arguments) {
        List<String> command = new ArrayList<>(List.of("curl", "-sS", "-m", "30"));
        command.addAll(List.of(arguments));
        return peer.run(command.toArray(String[]::new)).output();
    }

    private static String jdk(String program) {
        return Path.of(System.getProperty("java.home"), "bin", program).toString();
    }

    @Test
    void oneProperty(TestNetwork network, @TempDir Path directory) throws IOException {
        serves(network, directory);
    }

    /** Micronaut makes the loops that are configured in another way than those of its own choice. */
    @Test
    void withConfiguredLoops(TestNetwork network, @TempDir Path directory) throws IOException {
        serves(network, directory, "-micronaut.netty.event-loops.default.num-threads=2");
    }

    private void serves(TestNetwork network, Path directory, String... more) throws IOException {
        VethPair pair = network.vethPair(network.namespace(), network.namespace());
        peer = pair.peer().namespace();
        Files.writeString(directory.resolve("page"), "a page of the peer's");
        peer.start("python3", "-m", "http.server", "-d", directory.toString(), String.valueOf(STOCK_PORT));
        String page = "http://" + pair.peer().ipv4() + ":" + STOCK_PORT + "/page";
        Await.until("the stock server", () -> peer.attempt("curl", "-s", "-m", "2", page).exitCode() == 0);
        List<String> command = new ArrayList<>(List.of(jdk("java"), "--enable-native-access=ALL-UNNAMED",
                "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dio.netty.leakDetection.level=paranoid", "-cp",
                System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")),
                "program.MicronautApplication", "-rdmaraw.device=soft:xdp:" + pair.ours().name(),
                "-micronaut.server.host=" + pair.ours().ipv4(), "-micronaut.server.port=" + PORT,
                "-micronaut.server.max-request-size=20MB"));
        command.addAll(List.of(more));
        PeerProcess application = pair.ours().namespace().start(command.toArray(String[]::new));
        application.awaitOutput("started", Await.PATIENCE.multipliedBy(2));
        String site = "http://" + pair.ours().ipv4() + ":" + PORT;

        assertEquals("hello", curl(site + "/hello"), application::output);
        byte[] body = new byte[10_000_000];
        new Random(1).nextBytes(body);
        Path sent = Files.write(directory.resolve("sent"), body);
        Path got = directory.resolve("got");
        curl("-H", "Content-Type: application/octet-stream", "--data-binary", "@" + sent, "-o", got.toString(),
                site + "/echo");
        assertArrayEquals(body, Files.readAllBytes(got));
        assertEquals("a page of the peer's", curl(site + "/fetch?url=" + page), application::output);
        String classes = peer.run(jdk("jcmd"), String.valueOf(application.pid()), "GC.class_histogram", "-all")
                .output();
        assertTrue(classes.contains("io.rdmaraw.channel.RdmaRawServerSocketChannel\n"), classes);
        assertTrue(classes.contains("io.rdmaraw.channel.RdmaRawSocketChannel\n"), classes);
        assertFalse(classes.contains("NioSocketChannel\n") || classes.contains("EpollSocketChannel\n"), classes);
        assertFalse(application.output().contains("LEAK"), application::output);
    }
}
