package io.rdmaraw.examples.conformance;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmaraw.examples.Setup;
import io.rdmaraw.examples.Stage;
import io.rdmaraw.examples.websocket.WebSocketServer;
import io.rdmaraw.testsuite.net.PeerProcess;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.EnumSource.Mode;

import java.io.File;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Runs Autobahn's test suite for WebSocket servers against Netty's codec on this transport's channels and, for
 * comparison, on epoll's.
 */
@Tag("conformance")
@Timeout(3600)
class AutobahnTest {
    private static final int CASES_AT_LEAST = 300;
    private static final Duration LIMIT = Duration.ofMinutes(50);
    private static final Pattern CASE = Pattern.compile(
            "\"([0-9.]+)\": \\{[^}]*?\"behavior\": \"([A-Z -]+)\"[^}]*}");

    /**
     * Returns the cases to run: all, or those in the property {@code rdmaraw.autobahnCases}, such as {@code 1.*,9.1.*}.
     */
    private static String cases() {
        return '"' + System.getProperty("rdmaraw.autobahnCases", "*").replace(",", "\",\"") + '"';
    }

    @ParameterizedTest
    @EnumSource(mode = Mode.INCLUDE, names = {"EPOLL_VETH", "RDMA_RAW_XDP"})
    void passes(Setup setup) throws Exception {
        Path suite = ForeignSuites.require("autobahntestsuite.jar");
        Path jython = ForeignSuites.require("jython.jar");
        Path reports = ForeignSuites.reports("autobahn", setup);
        Path log = reports.resolve("output.txt");
        try (Stage stage = new Stage(setup)) {
            InetSocketAddress at = stage.start(new WebSocketServer());
            Path spec = Files.writeString(reports.resolve("spec.json"), """
                    {"options": {"failByDrop": false}, "outdir": "%s", "cases": [%s], "exclude-cases": [],
                     "exclude-agent-cases": {},
                     "servers": [{"agent": "server", "url": "ws://%s:%d", "options": {"version": 18}}]}
                    """.formatted(reports, cases(), at.getHostString(), at.getPort()));
            String program = "import sys; sys.argv = ['wstest', '-m', 'fuzzingclient', '-s', '" + spec
                    + "']; from autobahntestsuite import wstest; wstest.run()";
            // The shell redirects the suite's output to a file, which can be read while the suite runs.
            try (PeerProcess run = stage.clients().start("sh", "-c", "exec \"$@\" >\"$0\" 2>&1", log.toString(),
                    Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                    "--enable-native-access=ALL-UNNAMED", "-cp", jython + File.pathSeparator + suite,
                    "org.python.util.jython", "-c", program)) {
                run.await(LIMIT);
            }
        }
        String output = Files.readString(log);
        boolean all = cases().equals("\"*\"");
        Map<String, Integer> verdicts = new TreeMap<>();
        Map<String, String> failed = new TreeMap<>();
        assertTrue(Files.exists(reports.resolve("index.json")), output);
        Matcher cases = CASE.matcher(Files.readString(reports.resolve("index.json")));
        int count = 0;
        while (cases.find()) {
            count++;
            verdicts.merge(cases.group(2), 1, Integer::sum);
            if (!cases.group(2).matches("OK|NON-STRICT|INFORMATIONAL")) {
                failed.put(cases.group(1), cases.group(2));
            }
        }
        ForeignSuites.record("Autobahn 0.6.4", setup, count - failed.size() + " of " + count,
                verdicts + (all ? "" : ", of the cases " + cases().replace("\"", ""))
                        + (failed.isEmpty() ? "" : "; FAILED: " + failed));
        assertEquals(Map.of(), failed, output);
        assertTrue(count >= (all ? CASES_AT_LEAST : 1), output);
    }
}
