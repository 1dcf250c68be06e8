package io.rdmaraw.springboot;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmaraw.testsuite.net.Await;
import io.rdmaraw.testsuite.net.PeerProcess;
import io.rdmaraw.testsuite.net.ProgramOverVeth;
import io.rdmaraw.testsuite.net.TestNetwork;
import io.rdmaraw.testsuite.net.WithTestNetwork;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Path;

/** A Spring Boot application with this module and one additional property answers curl over a veth pair. */
@WithTestNetwork
@Timeout(300)
class SpringBootOverVethTest {
    private static final int PORT = 8080;
    private static final int BODY_BYTES = 10_000_000;

    @Test
    void oneProperty(TestNetwork network, @TempDir Path directory) throws IOException {
        ProgramOverVeth program = new ProgramOverVeth(network);
        String page = program.stockPage(directory, "a page of the peer's");
        PeerProcess application = program.start("program.Application", "Started Application", "--rdmaraw.device="
                + program.device(), "--rdmaraw.loops=2", "--server.address=" + program.address(), "--server.port="
                + PORT, "--spring.http.codecs.max-in-memory-size=20MB",
                "--spring.cloud.gateway.server.webflux.enabled=false",
                "--management.endpoints.web.exposure.include=metrics");
        String site = "http://" + program.address() + ":" + PORT;

        assertEquals("hello", program.curl(site + "/hello"), application::output);
        program.checkEcho(site + "/echo", BODY_BYTES, directory);
        assertEquals("a page of the peer's", program.curl(site + "/fetch?url=" + page), application::output);
        String metrics = program.curl(site + "/actuator/metrics/rdmaraw.queue.received.frames");
        assertTrue(metrics.contains("\"value\""), metrics);
        program.checkOnDeviceAlone();
    }

    /** The gateway uses an HTTP client other than Spring Boot's {@code WebClient}. */
    @Test
    void springCloudGateway(TestNetwork network, @TempDir Path directory) throws IOException {
        ProgramOverVeth program = new ProgramOverVeth(network);
        String page = program.stockPage(directory, "a page behind the gateway");
        String gateway = "--spring.cloud.gateway.server.webflux.";
        PeerProcess application = program.start("program.Gateway", "Started Gateway", "--rdmaraw.device="
                + program.device(), "--rdmaraw.loops=2", "--server.address=" + program.address(), "--server.port="
                + PORT, gateway + "routes[0].id=stock", gateway + "routes[0].uri=" + page,
                gateway + "routes[0].predicates[0]=Path=/page");

        assertEquals("a page behind the gateway", program.curl("http://" + program.address() + ":" + PORT + "/page"),
                application::output);
        program.checkOnDeviceAlone();
        application.awaitOutput("connects by the device", Await.PATIENCE);
    }
}
