package io.rdmaraw.tools.pktgen;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.rdmaraw.testsuite.net.CommandResult;
import io.rdmaraw.testsuite.net.PeerProcess;
import io.rdmaraw.tools.run.JavaCommand;
import io.rdmaraw.tools.server.ServerNetwork;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** {@code pktgen rx} on the interface of a running server, where a user tries to capture its frames. */
@Tag("root")
@Timeout(180)
class ReceiveBesideServerTest {
    @Test
    void messageNamesTheProgramThatGetsTheFrames() {
        assumeTrue("root".equals(System.getProperty("user.name")), "needs root");
        try (ServerNetwork network = new ServerNetwork()) {
            String device = "soft:packet:" + network.serverInterface();
            String alone = receive(network, device);
            assertTrue(alone.contains("is the sender's device the other end of the link?"), alone);
            try (PeerProcess server = network.start(List.of(), "http", "--device",
                    "soft:xdp:" + network.serverInterface(), "--threads", "1")) {
                String beside = receive(network, device);
                assertTrue(beside.contains("an XDP program on " + network.serverInterface()
                        + " gets the frames first"), beside + server.output());
            }
        }
    }

    private static String receive(ServerNetwork network, String device) {
        List<String> command = new ArrayList<>(JavaCommand.of("io.rdmaraw.tools.Main"));
        command.addAll(List.of("pktgen", "rx", "-d", device, "-M", "tcp dst-port 8080", "-D", "0.3"));
        CommandResult result = network.serverSide().attempt(command.toArray(String[]::new));
        assertEquals(1, result.exitCode(), result.output());
        return result.output();
    }
}
