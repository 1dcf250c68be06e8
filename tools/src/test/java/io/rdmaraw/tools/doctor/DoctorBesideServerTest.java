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

/** Runs the doctor on a veth end or a VLAN interface, with and without a server on it. */
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
                checkInUse(beside, device, server);
                assertTrue(beside.output().contains("is up and has a carrier"), beside.output());
            }
        }
    }

    /** The interface below a VLAN has one user, and the VLAN interface too. */
    @Test
    void serverOnVlanInterfaceIsNoFault() {
        assumeTrue("root".equals(System.getProperty("user.name")), "needs root");
        try (ServerNetwork network = new ServerNetwork()) {
            String below = network.serverInterface();
            CommandResult made = network.serverSide().attempt("ip", "link", "add", "tagged", "link", below, "type",
                    "vlan", "id", "7");
            assumeTrue(made.exitCode() == 0, "the kernel has no VLAN interfaces: " + made.output());
            network.serverSide().run("ip", "addr", "add", "192.0.2.1/24", "dev", "tagged");
            network.serverSide().run("ip", "link", "set", "tagged", "up");
            List<String> command = ServerNetwork.exampleCommand("http");
            command.addAll(List.of("--device", "soft:xdp:tagged", "--address", "192.0.2.1", "--threads", "1"));
            List<String> generic = new ArrayList<>(List.of("env", "SOFTVERBS_XDP_MODE=generic"));
            generic.addAll(command);
            for (List<String> mode : List.of(command, generic)) {
                try (PeerProcess server = ServerNetwork.awaitListening(
                        network.serverSide().start(mode.toArray(String[]::new)))) {
                    checkInUse(doctor(network, "soft:xdp:tagged"), "soft:xdp:tagged", server);
                }
            }
        }
    }

    private static void checkInUse(CommandResult doctor, String device, PeerProcess server) {
        assertEquals(0, doctor.exitCode(), doctor.output());
        assertTrue(doctor.output().lines().anyMatch(line -> line.matches("  OK +open +" + device
                + " is in use by process " + server.pid() + " \\(java\\) of user 0, a server or client.*")),
                doctor.output());
    }

    private static CommandResult doctor(ServerNetwork network, String device) {
        List<String> command = new ArrayList<>(JavaCommand.of("io.rdmaraw.tools.Main"));
        command.addAll(List.of("doctor", "--device", device));
        return network.serverSide().attempt(command.toArray(String[]::new));
    }
}
