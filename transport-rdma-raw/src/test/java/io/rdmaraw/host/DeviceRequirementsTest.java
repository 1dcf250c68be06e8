package io.rdmaraw.host;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

/** All missing requirements are reported together. The tests simulate the host's files. */
class DeviceRequirementsTest {
    private static final String NONE = "0000000000000000";
    /** CAP_NET_ADMIN, CAP_NET_RAW and CAP_SYS_ADMIN. */
    private static final String BEFORE_CAP_BPF = "0000000000203000";

    @TempDir
    private Path root;

    private List<String> missing(String capabilities, boolean broker, String device) throws IOException {
        return missing("6.17.0", capabilities, 0, broker, device);
    }

    private List<String> missing(String kernel, String capabilities, int seccomp, boolean broker, String device)
            throws IOException {
        Files.createDirectories(root.resolve("proc/self"));
        Files.createDirectories(root.resolve("proc/sys/kernel"));
        Files.writeString(root.resolve("proc/self/status"), "Name:\tjava\nCapEff:\t" + capabilities
                + "\nSeccomp:\t" + seccomp + "\nSeccomp_filters:\t2\n");
        Files.writeString(root.resolve("proc/sys/kernel/osrelease"), kernel + "\n");
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
    void packetSocketsNeedNetRawOnly() throws IOException {
        link("eth0", "0x1003");
        List<String> missing = missing(NONE, false, "soft:packet:eth0");
        assertEquals(1, missing.size(), missing.toString());
        assertTrue(missing.getFirst().startsWith("the process lacks CAP_NET_RAW: "), missing.toString());
    }

    /** CAP_NET_ADMIN, CAP_NET_RAW and CAP_BPF. */
    private static final String WITHOUT_PERFMON = "0000008000003000";

    @Test
    void olderKernelsNeedPerfmonToo() throws IOException {
        link("eth0", "0x1003");
        for (String kernel : List.of("6.1.0-40-amd64", "6.16.9", "5.19.0")) {
            List<String> missing = missing(kernel, WITHOUT_PERFMON, 0, false, "soft:xdp:eth0");
            assertEquals(1, missing.size(), kernel);
            assertTrue(missing.getFirst().startsWith("the process lacks CAP_PERFMON (before Linux 6.17): "),
                    missing.toString());
        }
        for (String kernel : List.of("6.17.0-1-cloud-amd64", "7.0", "10.2.1", "unknown")) {
            assertEquals(List.of(), missing(kernel, WITHOUT_PERFMON, 0, false, "soft:xdp:eth0"), kernel);
        }
        assertEquals(List.of(), missing("6.1.0", WITHOUT_PERFMON, 0, false, "soft:packet:eth0"));
        assertEquals(List.of(), missing("6.1.0", BEFORE_CAP_BPF, 0, false, "soft:xdp:eth0"));
    }

    @Test
    void seccompProfileIsNamedIfItMayRefuseCalls() throws IOException {
        link("eth0", "0x1003");
        String told = "its seccomp profile has to allow bpf(2) too";
        assertTrue(missing("6.17.0", NONE, 2, false, "soft:xdp:eth0").getFirst().contains(told));
        assertFalse(missing("6.17.0", NONE, 0, false, "soft:xdp:eth0").getFirst().contains(told));
        assertFalse(missing("6.17.0", NONE, 2, false, "soft:packet:eth0").getFirst().contains(told));
    }

    @Test
    void deviceErrorListsRequirementsOnce() throws IOException {
        link("eth0", "0x1003");
        missing(NONE, false, "soft:xdp:eth0");
        DeviceRequirements requirements = new DeviceRequirements(root, false);
        String addition = requirements.messageSuffix("soft:xdp:eth0", "EPERM");
        assertTrue(addition.startsWith(". Missing here: the process lacks CAP_NET_RAW, "), addition);
        assertEquals("", requirements.messageSuffix("soft:xdp:eth0", "EPERM" + addition));
        assertEquals("", requirements.messageSuffix("soft:loop", "EPERM"));
    }

    @Test
    void nothingIsMissingWhereEverythingIsThere() throws IOException {
        link("eth0", "0x1003");
        assertEquals(List.of(), missing(BEFORE_CAP_BPF, false, "soft:xdp:eth0"));
        assertEquals(List.of(), missing(NONE, true, "soft:xdp:eth0"), "the broker has the capabilities");
        assertEquals(List.of(), missing(NONE, false, "soft:loop:a"), "memory needs none");
    }

    @Test
    void missingInterfaceIsNamed() throws IOException {
        assertEquals(List.of("there is no network interface eth7 in this network namespace"),
                missing(BEFORE_CAP_BPF, false, "soft:xdp:eth7"));
    }
}
