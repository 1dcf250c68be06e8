package io.rdmaraw.tools.top;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.rdmaraw.testsuite.net.PeerProcess;
import io.rdmaraw.tools.ToolRun;
import io.rdmaraw.tools.server.ServerNetwork;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Inspects a server in another network namespace, as in a container. Its management agent listens in that namespace.
 */
@Tag("root")
@Timeout(180)
class OtherNamespaceTest {
    @Test
    void connectionsAndLoopsOfAnotherNamespaceAreShown() {
        assumeTrue("root".equals(System.getProperty("user.name")), "needs root");
        try (ServerNetwork network = new ServerNetwork();
                PeerProcess server = network.start(List.of(), "http", "--device", "soft:xdp:"
                        + network.serverInterface(), "--port", "8080", "--threads", "1");
                PeerProcess client = network.clientSide().start("bash", "-c", "exec 3<>/dev/tcp/"
                        + network.serverAddress() + "/8080; cat <&3")) {
            assertTrue(client.isAlive(), client.output());
            String pid = Long.toString(server.pid());
            String connection = "ESTAB +0 +0 +" + network.serverAddress() + ":8080 +.*users:\\(\\(\"java\",pid=" + pid
                    + ",loop=.*";
            ToolRun run;
            do {
                // The client has no fixed time to connect. The timeout of the class limits the loop.
                run = ToolRun.of("ss", "-tinp", pid);
                assertEquals(0, run.exitCode(), run.err());
            } while (run.out().lines().noneMatch(line -> line.matches(connection)));
            assertTrue(run.out().lines().anyMatch(line -> line.matches("\t .* cubic .* rto:.*")), run.out());
            assertTrue(ToolRun.of("ss", "-l", pid).out().contains("LISTEN"), run.out());
            ToolRun top = ToolRun.of("top", "--pid", pid, "-n", "1", "--interval", "0.2");
            assertEquals(0, top.exitCode(), top.err());
            assertTrue(top.out().contains("connections: ESTABLISHED 1"), top.out());
        }
    }
}
