package io.rdmaraw.examples.tcp;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmaraw.examples.Setup;
import io.rdmaraw.examples.Stage;
import io.rdmaraw.testsuite.net.PeerProcess;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.time.Duration;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** iperf3 with itself through our proxy, so that our TCP is the server of one connection and the client of the next. */
@Timeout(120)
class Iperf3Test {
    private static final Duration START_LIMIT = Duration.ofSeconds(20);
    private static final String PORT = "5201";

    @ParameterizedTest
    @CsvSource({"RDMA_RAW_PACKET,", "RDMA_RAW_PACKET,-R", "RDMA_RAW_XDP,", "RDMA_RAW_XDP,-R", "RDMA_RAW_XDP,--bidir"})
    void sendsAndReceives(Setup setup, String direction) throws Exception {
        Stage.require("iperf3:iperf3");
        try (Stage stage = new Stage(setup)) {
            String behind = stage.clientAddress();
            PeerProcess server = stage.clients().start("iperf3", "-s", "-1", "--forceflush", "-B", behind, "-p", PORT);
            server.awaitOutput("Server listening on", START_LIMIT);
            var proxy = stage.start(new ProxyServer(), "--to", behind + ':' + PORT);
            String report = stage.run("iperf3", "-c", proxy.getHostString(), "-p", Integer.toString(proxy.getPort()),
                    "-t", "2", "-J", direction == null ? "-4" : direction);
            Matcher received = Pattern.compile("\"sum_received(?:_bidir_reverse)?\":\\s*\\{[^}]*\"bytes\":\\s*(\\d+)")
                    .matcher(report);
            int sums = 0;
            while (received.find()) {
                assertTrue(Long.parseLong(received.group(1)) > 1_000_000, report);
                sums++;
            }
            assertTrue(sums == ("--bidir".equals(direction) ? 2 : 1), report);
        }
    }
}
