package io.rdmaraw.host;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

/** All that is wanting is told at once, on hosts that the tests make up. */
class DeviceRequirementsTest {
    private static final String NONE = "0000000000000000";
    /** CAP_NET_ADMIN, CAP_NET_RAW and CAP_SYS_ADMIN. */
    private static final String BEFORE_CAP_BPF = "0000000000203000";

    @TempDir
    private Path root;

    private List<String> missing(String capabilities, boolean broker, String device) throws IOException {
        Files.createDirectories(root.resolve("proc/self"));
        Files.writeString(root.resolve("proc/self/status"), "Name:\tjava\nCapEff:\t" + capabilities + "\n");
        return new DeviceRequirements(root, broker).missing(device);
    }

    private void link(String name, String flags) throws IOException {
        Files.createDirectories(root.resolve("sys/class/net/" + name));
        Files.writeString(root.resolve("sys/class/net/" + name + "/flags"), flags + "\n");
    }

    @Test
    void everyCapabilityAndTheInterfaceAreNamedTogether() throws IOException {
        link("eth0", "0x1002");
        List<String> missing = missing(NONE, false, "soft:xdp:eth0");
        assertEquals(2, missing.size(), missing.toString());
        assertEquals("eth0 is down: ip link set dev eth0 up", missing.getFirst());
        assertTrue(missing.getLast().startsWith("the process lacks CAP_NET_RAW, CAP_NET_ADMIN, CAP_BPF: "),
                missing.toString());
    }

    @Test
    void packetSocketsNeedLess() throws IOException {
        link("eth0", "0x1003");
        List<String> missing = missing(NONE, false, "soft:packet:eth0");
        assertEquals(1, missing.size(), missing.toString());
        assertTrue(missing.getFirst().startsWith("the process lacks CAP_NET_RAW: "), missing.toString());
    }

    @Test
    void nothingIsMissingWhereEverythingIsThere() throws IOException {
        link("eth0", "0x1003");
        assertEquals(List.of(), missing(BEFORE_CAP_BPF, false, "soft:xdp:eth0"));
        assertEquals(List.of(), missing(NONE, true, "soft:xdp:eth0"), "the broker has the capabilities");
        assertEquals(List.of(), missing(NONE, false, "soft:loop:a"), "memory needs none");
    }

    @Test
    void anInterfaceThatIsNotThereIsNamed() throws IOException {
        assertEquals(List.of("there is no network interface eth7 in this network namespace"),
                missing(BEFORE_CAP_BPF, false, "soft:xdp:eth7"));
    }
}
