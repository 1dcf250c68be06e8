package io.rdmaraw.examples.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmaraw.examples.Setup;
import io.rdmaraw.examples.Stage;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.net.InetSocketAddress;
import java.nio.file.Path;

/** Sends requests to the HTTP/2 server over TLS with curl, by HTTP/1.1 and HTTP/2, and with h2load. */
@Timeout(120)
class Http2ServerTest {
    private static String start(Stage stage) throws Exception {
        InetSocketAddress at = stage.start(new Http2Server());
        return "https://" + at.getHostString() + ':' + at.getPort();
    }

    @ParameterizedTest
    @EnumSource
    void servesCurl(Setup setup, @TempDir Path directory) throws Exception {
        Stage.require("curl:curl");
        try (Stage stage = new Stage(setup)) {
            String site = start(stage);
            assertEquals("2", stage.run("curl", "-sSk", "-o", "/dev/null", "-w", "%{http_version}", site + "/json"));
            HttpServerTest.Curl.checkSite(stage, site, directory, "-k");
            HttpServerTest.Curl.checkSite(stage, site, directory, "-k", "--http1.1");
        }
    }

    @ParameterizedTest
    @EnumSource
    void bearsH2load(Setup setup) throws Exception {
        Stage.require("h2load:nghttp2-client");
        try (Stage stage = new Stage(setup)) {
            String report = stage.run("h2load", "-n", "5000", "-c", "10", "-m", "20", start(stage) + "/plaintext");
            assertTrue(report.contains("5000 total, 5000 started, 5000 done, 5000 succeeded, 0 failed"), report);
        }
    }
}
