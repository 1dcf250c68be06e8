package io.rdmaraw.micronaut;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.rdmaraw.testsuite.net.PeerProcess;
import io.rdmaraw.testsuite.net.ProgramOverVeth;
import io.rdmaraw.testsuite.net.TestNetwork;
import io.rdmaraw.testsuite.net.WithTestNetwork;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.stream.Stream;

/** A Micronaut application with this module and one additional property answers curl over a veth pair. */
@WithTestNetwork
@Timeout(300)
class MicronautOverVethTest {
    private static final int PORT = 8080;
    private static final int BODY_BYTES = 10_000_000;

    @Test
    void oneProperty(TestNetwork network, @TempDir Path directory) throws IOException {
        serves(network, directory);
    }

    /** Micronaut creates configured loops in a different way from default ones. */
    @Test
    void withConfiguredLoops(TestNetwork network, @TempDir Path directory) throws IOException {
        serves(network, directory, "-micronaut.netty.event-loops.default.num-threads=2");
    }

    private static void serves(TestNetwork network, Path directory, String... more) throws IOException {
        ProgramOverVeth program = new ProgramOverVeth(network);
        String page = program.stockPage(directory, "a page of the peer's");
        PeerProcess application = program.start("program.MicronautApplication", "started",
                Stream.concat(Stream.of("-rdmaraw.device=" + program.device(), "-micronaut.server.host="
                        + program.address(), "-micronaut.server.port=" + PORT,
                        "-micronaut.server.max-request-size=20MB"), Arrays.stream(more)).toArray(String[]::new));
        String site = "http://" + program.address() + ":" + PORT;

        assertEquals("hello", program.curl(site + "/hello"), application::output);
        program.checkEcho(site + "/echo", BODY_BYTES, directory);
        assertEquals("a page of the peer's", program.curl(site + "/fetch?url=" + page), application::output);
        program.checkOnDeviceAlone();
    }
}
