package io.rdmaraw.tools.doctor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmaraw.tools.doctor.Finding.Severity;
import io.rdmaraw.verbs.softverbs.InterfaceProgram;
import io.rdmaraw.verbs.softverbs.InterfaceProgram.AttachPoint;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Findings about eBPF programs attached to an interface. */
class ProgramChecksTest {
    @Test
    void xdpProgramOfOtherSoftwareIsNamed() {
        InterfaceProgram firewall = new InterfaceProgram(AttachPoint.XDP_DRIVER, 12, "firewall");
        assertFinding(Severity.WARN, "'firewall' (id 12) is an XDP program on eth0", DeviceKind.XDP, firewall);
        assertFinding(Severity.WARN, "in mode tap only", DeviceKind.XDP, firewall);
        assertFinding(Severity.WARN, "do not reach us", DeviceKind.PACKET, firewall);
    }

    @Test
    void programWithoutReadableNameHasItsId() {
        assertFinding(Severity.WARN, "(id 7) is an XDP program", DeviceKind.XDP,
                new InterfaceProgram(AttachPoint.XDP_GENERIC, 7, ""));
    }

    @Test
    void tcProgramOfOtherSoftwareComesAfterOurs() {
        assertFinding(Severity.OK, "'cil_from_netdev' (id 9) is a tc program on eth0: ours comes before it",
                DeviceKind.PACKET, new InterfaceProgram(AttachPoint.TC, 9, "cil_from_netdev"));
    }

    @Test
    void programOfThisTransportIsNoWarning() {
        assertFinding(Severity.OK, "another process of this transport", DeviceKind.XDP,
                new InterfaceProgram(AttachPoint.TC, 3, "rdma_raw_redire"));
    }

    @Test
    void interfaceThatDoesNotExistHasNoPrograms() {
        assertEquals(List.of(), new ProgramChecks(InterfaceProgram::of).check(DeviceKind.XDP, "no-such-device"));
    }

    private static void assertFinding(Severity severity, String text, DeviceKind kind, InterfaceProgram program) {
        List<Finding> findings = new ProgramChecks(netdev -> List.of(program)).check(kind, "eth0");
        assertEquals(1, findings.size());
        assertEquals(severity, findings.get(0).severity());
        assertTrue(findings.get(0).text().contains(text), findings.toString());
    }
}
