package io.rdmaraw.tools;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.rdmaraw.tools.command.ToolException;
import io.rdmaraw.tools.server.ServerNetwork;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.io.IOException;
import java.net.DatagramSocket;
import java.net.ServerSocket;

/** Runs the server demos, each with the server in a separate process. */
@Timeout(120)
class ServerDemoTest {
    private static final String NOTHING_FOR_THE_KERNEL = "received 0 TCP segments and 0 UDP datagrams";

    private static void require(String program, String debianPackage) {
        try {
            ServerNetwork.require(program, debianPackage);
        } catch (ToolException e) {
            assumeTrue(false, "needs " + program + ": apt-get install " + debianPackage);
        }
    }

    private static void requireDig() {
        require("dig", "bind9-dnsutils");
    }

    private static void requireRoot() {
        assumeTrue("root".equals(System.getProperty("user.name")), "needs root, to make network namespaces");
    }

    /** Returns a port that no other run of the tests uses. */
    private static String freePort() throws IOException {
        try (ServerSocket tcp = new ServerSocket(0); DatagramSocket udp = new DatagramSocket(tcp.getLocalPort())) {
            return Integer.toString(udp.getLocalPort());
        }
    }

    private static void http(String expected, String... arguments) {
        require("curl", "curl");
        ToolRun run = ToolRun.of(arguments);
        assertEquals(0, run.exitCode(), run.out() + run.err());
        assertTrue(run.out().contains("Hello, World!") && run.out().contains(expected), run.out());
    }

    @Test
    void httpOnTheLoopDevice() throws IOException {
        http("200, 10000000 bytes", "demo", "http", "--loop", "--port", freePort());
    }

    @Test
    @Tag("root")
    void httpOnAVethPair() {
        requireRoot();
        http(NOTHING_FOR_THE_KERNEL, "demo", "http");
    }

    @Test
    void dnsOnTheLoopDevice() throws IOException {
        requireDig();
        ToolRun run = ToolRun.of("demo", "dns", "--loop", "--port", freePort());
        assertEquals(0, run.exitCode(), run.out() + run.err());
        assertTrue(run.out().contains("192.0.2.80\n192.0.2.81\n"), run.out());
    }

    @Test
    @Tag("root")
    void dnsOnAVethPair() {
        requireDig();
        requireRoot();
        ToolRun run = ToolRun.of("demo", "dns");
        assertEquals(0, run.exitCode(), run.out() + run.err());
        assertTrue(run.out().contains("192.0.2.80\n192.0.2.81\n"), run.out());
        assertTrue(run.out().contains(NOTHING_FOR_THE_KERNEL), run.out());
    }
}
