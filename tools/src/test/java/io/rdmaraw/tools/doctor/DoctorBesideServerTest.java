package io.rdmaraw.tools.doctor;

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

/** Runs the doctor on a veth end, with and without a server on it. */
@Tag("root")
@Timeout(180)
class DoctorBesideServerTest {
    @Test
    void interfaceOfARunningServerPasses() {
        assumeTrue("root".equals(System.getProperty("user.name")), "needs root");
        try (ServerNetwork network = new ServerNetwork()) {
            String device = "soft:xdp:" + network.serverInterface();
            CommandResult alone = doctor(network, device);
            assertEquals(0, alone.exitCode(), alone.output());
            assertTrue(alone.output().contains("a raw-packet queue pair is ready to send"), alone.output());
            assertTrue(alone.output().lines().noneMatch(line -> line.matches(" *WARN +(offloads|huge pages).*")),
                    alone.output());
            try (PeerProcess server = network.start(List.of(), "http", "--device", device, "--threads", "1")) {
                CommandResult beside = doctor(network, device);
                assertEquals(0, beside.exitCode(), beside.output());
                assertTrue(beside.output().lines().anyMatch(line -> line.matches("  OK +open +" + device
                        + " is in use by process " + server.pid() + " \\(java\\) of user 0, a server or client.*")),
                        beside.output());
                assertTrue(beside.output().contains("is up and has a carrier"), beside.output());
            }
        }
    }

    private static CommandResult doctor(ServerNetwork network, String device) {
        List<String> command = new ArrayList<>(JavaCommand.of("io.rdmaraw.tools.Main"));
        command.addAll(List.of("doctor", "--device", device));
        return network.serverSide().attempt(command.toArray(String[]::new));
    }
}
