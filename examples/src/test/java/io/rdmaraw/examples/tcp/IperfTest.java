package io.rdmaraw.examples.tcp;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmaraw.examples.Setup;
import io.rdmaraw.examples.Stage;
import io.rdmaraw.testsuite.net.PeerProcess;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.EnumSource.Mode;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Runs iperf3 through the proxy, so that the tested transport receives and sends each byte once. */
@Timeout(180)
class IperfTest {
    private static final String PORT = "5201";
    /** Far more than all buffers on the path hold: some 40 MB for four streams, before and behind the proxy. */
    private static final long BYTES = 256 << 20;

    @ParameterizedTest
    @EnumSource(mode = Mode.INCLUDE, names = {"EPOLL_VETH", "RDMA_RAW_PACKET", "RDMA_RAW_XDP"})
    void sendsBothWays(Setup setup) throws Exception {
        Stage.require("iperf3:iperf3");
        try (Stage stage = new Stage(setup);
                PeerProcess server = stage.clients().start("iperf3", "-s", "-p", PORT, "--forceflush")) {
            server.awaitOutput("Server listening", Duration.ofSeconds(20));
            int port = stage.start(new ProxyServer(), "--to", stage.clientAddress() + ':' + PORT).getPort();
            transfer(stage, port);
            transfer(stage, port, "-P", "4");
            transfer(stage, port, "-R");
        }
    }

    /** Transfers the bytes. The counting side ends the test, and bytes in flight are then lost. */
    private static void transfer(Stage stage, int port, String... options) {
        List<String> command = new ArrayList<>(List.of("iperf3", "-J", "-c", stage.serverAddress(), "-p",
                Integer.toString(port), "-n", Long.toString(BYTES)));
        command.addAll(List.of(options));
        String report;
        do {
            report = stage.run(command.toArray(String[]::new));
            // The server learns of the previous test's end through the proxy, behind all data in flight.
        } while (report.contains("the server is busy"));
        assertFalse(report.contains("\"error\""), report);
        assertTrue(sum(report, "sum_sent") >= BYTES, report);
        assertTrue(sum(report, "sum_received") > BYTES / 2, report);
    }

    private static long sum(String report, String name) {
        Matcher sum = Pattern.compile('"' + name + "\"[^}]*\"bytes\":\\s*(\\d+)").matcher(report);
        assertTrue(sum.find(), report);
        return Long.parseLong(sum.group(1));
    }
}
