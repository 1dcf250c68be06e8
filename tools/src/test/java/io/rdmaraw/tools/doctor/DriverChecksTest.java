package io.rdmaraw.tools.doctor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmaraw.tools.doctor.Finding.Severity;
import io.rdmaraw.verbs.softverbs.InterfaceInfo;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The findings about network drivers, with simulated answers of the kernel and with those of this host's kernel. */
class DriverChecksTest {
    private static final long NATIVE = InterfaceInfo.XDP_BASIC | InterfaceInfo.XDP_REDIRECT;
    private static final long ZERO_COPY = NATIVE | InterfaceInfo.XDP_ZERO_COPY;
    private static final long ALL = ZERO_COPY | InterfaceInfo.XDP_RX_SG;

    @TempDir
    private Path root;

    @BeforeEach
    void aNewKernel() throws IOException {
        write("proc/sys/kernel/osrelease", "7.3.4-test\n");
        write("sys/class/net/eth0/mtu", "1500");
    }

    @Test
    void theRowOfADriverIsNamed() throws IOException {
        assertFinding(Severity.OK, "e1000e: modes generic, tap", interfaceInfo("e1000e", 0, 1, 1));
        assertFinding(Severity.OK, "igb: modes generic, native, zerocopy, tap; an MTU above 3822 in generic alone",
                interfaceInfo("igb", ZERO_COPY, 1, 1));
        assertFinding(Severity.OK, "modes generic, native, zerocopy, tap; an MTU above 3822 in generic and native",
                interfaceInfo("ixgbe", ALL, 1, 1));
        assertFinding(Severity.OK, "; an MTU above 3822 in all of them; native mode wants Linux 6.1",
                interfaceInfo("mlx5_core", ALL, 5, 1));
        assertFinding(Severity.OK, "modes generic, tap", interfaceInfo("odd", InterfaceInfo.XDP_BASIC, 1, 1));
        write("proc/sys/kernel/osrelease", "6.5.0-test\n");
        assertFinding(Severity.OK, "modes generic, native;", interfaceInfo("veth", NATIVE, 1, 1));
    }

    @Test
    void aModeThatTheDriverLacksIsAFault() throws IOException {
        environment("SOFTVERBS_XDP_MODE=native");
        assertFinding(Severity.FAIL, "; not native", interfaceInfo("e1000e", 0, 1, 1));
        assertFinding(Severity.OK, "native", interfaceInfo("veth", NATIVE, 1, 1));
        environment("SOFTVERBS_XDP_MODE=zerocopy");
        assertFinding(Severity.FAIL, "; not zerocopy", interfaceInfo("veth", NATIVE, 1, 1));
        assertFinding(Severity.OK, "zerocopy", interfaceInfo("igb", ZERO_COPY, 1, 1));
        write("sys/class/net/eth0/mtu", "9000");
        assertFinding(Severity.FAIL, "in generic alone", interfaceInfo("igb", ZERO_COPY, 1, 1));
        environment("SOFTVERBS_XDP_MODE=auto");
        assertFinding(Severity.OK, "in generic alone", interfaceInfo("igb", ZERO_COPY, 1, 1));
    }

    @Test
    void moreQueuesThanAreServedAreAFault() {
        assertFinding(Severity.FAIL, "96 receive queues", interfaceInfo("ice", ALL, 5, 96));
        assertTrue(check(interfaceInfo("ice", ALL, 5, 64)).stream().noneMatch(f -> f.severity() == Severity.FAIL));
    }

    @Test
    void busyPollingIsAdvisedWhereQueuesCanBePolled() throws IOException {
        assertFinding(Severity.OK, "can be had: SOFTVERBS_XDP_BUSY_POLL=on", interfaceInfo("igb", ZERO_COPY, 1, 2));
        InterfaceInfo veth = new InterfaceInfo("veth", true, NATIVE, 7, 0, 2, 0, false, 0);
        assertFinding(Severity.OK, "cannot be had: queues of eth0", veth);
        environment("SOFTVERBS_XDP_BUSY_POLL=on");
        assertFinding(Severity.FAIL, "cannot be had: queues of eth0", veth);
        assertFinding(Severity.OK, "is on", interfaceInfo("igb", ZERO_COPY, 1, 2));
        assertFinding(Severity.OK, "while eth0 is up", new InterfaceInfo("igb", true, NATIVE, 0, 0, 0, 0, false, 0));
        assertFinding(Severity.WARN, "of 2 queues", new InterfaceInfo("igb", true, ALL, 0, 1, 2, 2, false, 2));
    }

    /**
     * From Linux 6.8 to 6.12 the kernel reports queues, but most drivers report no NAPI instance for them. In native
     * mode, a received frame carries its instance, so busy polling is still possible there.
     */
    @Test
    void beforeLinux613AFrameCarriesTheNapiInstance() throws IOException {
        InterfaceInfo igb = new InterfaceInfo("igb", true, NATIVE, 0, 0, 2, 0, true, 0);
        InterfaceInfo e1000e = new InterfaceInfo("e1000e", true, 0, 0, 0, 2, 2, true, 0);
        assertFinding(Severity.OK, "can be had in modes native and zerocopy: SOFTVERBS_XDP_BUSY_POLL=on", igb);
        assertFinding(Severity.OK, "cannot be had: before Linux 6.13", e1000e);
        environment("SOFTVERBS_XDP_BUSY_POLL=on");
        assertFinding(Severity.OK, "is on in modes native and zerocopy", igb);
        assertFinding(Severity.FAIL, "cannot be had: before Linux 6.13", e1000e);
        environment("SOFTVERBS_XDP_BUSY_POLL=on\0SOFTVERBS_XDP_MODE=generic");
        assertFinding(Severity.FAIL, "cannot be had in mode generic", igb);
    }

    @Test
    void oldKernelReportsNoFeatures() {
        assertEquals(1, check(new InterfaceInfo("igb", false, 0, 0, 0, 0, 0, false, 0)).size());
        assertFinding(Severity.OK, "igb; before Linux 6.3", new InterfaceInfo("igb", false, 0, 0, 0, 0, 0, false, 0));
    }

    /** Queries the loopback interface, which exists on every host and supports none of these features. */
    @Test
    void thisKernelAnswers() {
        InterfaceInfo loopback = InterfaceInfo.of("lo").orElseThrow();
        assertEquals(0, loopback.xdpFeatures());
        assertEquals(0, loopback.queuesWithNapi());
        assertEquals(Optional.empty(), InterfaceInfo.of("no-such-device"));
        assertEquals(List.of(), new DriverChecks(new Host(root), InterfaceInfo::of).check("no-such-device"));
    }

    private static InterfaceInfo interfaceInfo(String driver, long features, int zeroCopySegments, int queues) {
        return new InterfaceInfo(driver, true, features, 0, zeroCopySegments, queues, queues, false, 0);
    }

    private List<Finding> check(InterfaceInfo facts) {
        return new DriverChecks(new Host(root), netdev -> Optional.of(facts)).check("eth0");
    }

    private void assertFinding(Severity severity, String text, InterfaceInfo facts) {
        List<Finding> findings = check(facts);
        assertTrue(findings.stream().anyMatch(f -> f.severity() == severity && f.text().contains(text)),
                findings.toString());
    }

    private void environment(String variable) throws IOException {
        write("proc/self/environ", variable + '\0');
    }

    private void write(String file, String text) throws IOException {
        Path path = root.resolve(file);
        Files.createDirectories(path.getParent());
        Files.writeString(path, text);
    }
}
