package io.rdmaraw.tools.doctor;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.rdmaraw.tools.command.DeviceChoice;
import io.rdmaraw.tools.command.ExitCode;
import io.rdmaraw.tools.devinfo.NetworkInterfaces;
import io.rdmaraw.tools.doctor.Finding.Severity;
import io.rdmaraw.tools.output.Json;
import io.rdmaraw.verbs.objects.VerbsDevices;
import io.rdmaraw.verbs.port.PortInterfaces;
import io.rdmaraw.verbs.softverbs.InterfaceInfo;
import io.rdmaraw.verbs.softverbs.InterfaceProgram;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Help.Ansi;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** The command {@code rdma-raw doctor}. */
@Command(name = "doctor", mixinStandardHelpOptions = true,
        description = "Says what a device lacks on this host and how to put it right: capabilities, locked memory,"
                + " kernel options, interface, MTU, offloads. Without a device it checks the RDMA devices"
                + " and soft:loop, and names the network interfaces. Ends with 1 if the device cannot work.")
public final class DoctorCommand implements Callable<Integer> {
    @ArgGroup
    private DeviceChoice choice;

    @Option(names = "--json", description = "print one JSON object")
    private boolean json;

    @Spec
    private CommandSpec spec;

    private String device;

    /** The devices that a run without a device leaves out. */
    private List<String> notChecked = List.of();

    @Override
    public Integer call() {
        device = DeviceChoice.nameOrNull(choice);
        Map<String, List<Finding>> findings = new LinkedHashMap<>();
        Set<String> devices = devices();
        devices.forEach(name -> findings.put(name, examine(name)));
        if (device == null) {
            notChecked = NetworkInterfaces.onThisHost().stream().filter(name -> !devices.contains(name)).toList();
        }
        PrintWriter out = spec.commandLine().getOut();
        if (json) {
            Json.print(out, toJson(findings));
        } else {
            printText(out, findings);
        }
        return isHealthy(findings) ? 0 : ExitCode.FAILED;
    }

    /** Returns the devices to examine. The loop device always exists, so a failure to open it must be shown. */
    private Set<String> devices() {
        if (device != null) {
            return Set.of(device);
        }
        Set<String> devices = new LinkedHashSet<>(VerbsDevices.names());
        devices.add("soft:loop");
        return devices;
    }

    private static List<Finding> examine(String device) {
        Host host = new Host(Path.of("/"));
        NetdevChecks netdevs = new NetdevChecks(host, new Ethtool(), InterfaceInfo::of);
        DeviceKind kind = DeviceKind.of(device);
        String underlyingDevice = kind.underlyingDevice(device);
        List<Finding> findings = new ArrayList<>();
        switch (kind) {
            case LOOP -> { }
            case XDP -> {
                findings.addAll(netdevs.check(underlyingDevice, true));
                findings.addAll(new DriverChecks(host, InterfaceInfo::of).check(underlyingDevice));
            }
            // This kind segments merged frames and restores VLAN tags itself.
            case PACKET -> findings.addAll(netdevs.check(underlyingDevice, false));
            case RDMA -> findings.addAll(new RdmaChecks(host, netdevs,
                    PortInterfaces.ofHost()).check(underlyingDevice));
        }
        if (kind == DeviceKind.XDP || kind == DeviceKind.PACKET) {
            findings.addAll(new ProgramChecks(InterfaceProgram::of).check(kind, underlyingDevice));
        }
        findings.addAll(new HostChecks(host).check(kind, underlyingDevice));
        findings.addAll(OpenCheck.check(host, device));
        return findings;
    }

    private static boolean isHealthy(Map<String, List<Finding>> findings) {
        return findings.values().stream().flatMap(List::stream)
                .noneMatch(finding -> finding.severity() == Severity.FAIL);
    }

    private ObjectNode toJson(Map<String, List<Finding>> findings) {
        ObjectNode report = Json.object();
        ArrayNode devices = report.putArray("devices");
        findings.forEach((name, list) -> {
            ArrayNode array = devices.addObject().put("device", name).putArray("findings");
            list.forEach(finding -> array.add(finding.toJson()));
        });
        if (device == null) {
            notChecked.forEach(report.putArray("notChecked")::add);
        }
        return report;
    }

    /**
     * Prints the findings. Network interfaces are only named, because a check attaches a program to the interface, and
     * some drivers reset the card for that.
     */
    private void printText(PrintWriter out, Map<String, List<Finding>> findings) {
        findings.forEach((name, list) -> {
            out.println(name);
            list.forEach(finding -> out.println(coloured(finding).indent(2).stripTrailing()));
        });
        if (!notChecked.isEmpty()) {
            out.println("not checked, because that opens the interface:");
            notChecked.forEach(name -> out.println("  ./rdma-raw doctor " + name + "    (" + NetworkInterfaces
                    .describe(name) + ')'));
        }
        out.flush();
    }

    /** Colours a finding if the output is a terminal with colours, as picocli does for the help text. */
    private static String coloured(Finding finding) {
        String text = finding.toString();
        return switch (finding.severity()) {
            case FAIL -> text.replaceFirst("FAIL", Ansi.AUTO.string("@|bold,red FAIL|@"));
            case WARN -> text.replaceFirst("WARN", Ansi.AUTO.string("@|yellow WARN|@"));
            default -> text;
        };
    }
}
