package io.rdmaraw.tools;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.rdmaraw.tools.server.ServerNetwork;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The demos of servers, with the server in a process of its own. */
@Timeout(120)
class ServerDemoTest {
    private static void requireDig() {
        try {
            ServerNetwork.require("dig", "bind9-dnsutils");
        } catch (ToolException e) {
            assumeTrue(false, "needs dig: apt-get install bind9-dnsutils");
        }
    }

    @Test
    void dnsOnTheLoopDevice() {
        requireDig();
        ToolRun run = ToolRun.of("demo", "dns", "--loop", "--port", "5399");
        assertEquals(0, run.exitCode(), run.out() + run.err());
        assertTrue(run.out().contains("192.0.2.80\n192.0.2.81\n"), run.out());
    }

    @Test
    void dnsOnAVethPair() {
        requireDig();
        assumeTrue("root".equals(System.getProperty("user.name")), "needs root, to make network namespaces");
        ToolRun run = ToolRun.of("demo", "dns");
        assertEquals(0, run.exitCode(), run.out() + run.err());
        assertTrue(run.out().contains("192.0.2.80\n192.0.2.81\n"), run.out());
        assertTrue(run.out().contains("received 0 TCP segments and 0 UDP datagrams"), run.out());
    }
}
