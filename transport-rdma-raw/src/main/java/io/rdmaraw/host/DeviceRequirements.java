package io.rdmaraw.host;

import io.rdmaraw.ffi.Errno;
import io.rdmaraw.net.CapabilityBroker;
import io.rdmaraw.verbs.DeviceName;
import io.rdmaraw.verbs.VerbsException;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * What a device needs of the process and of the host, as far as it can be seen without opening it. The kernel refuses
 * one thing after the other; who sets a container up wants to hear of all of them at once.
 */
public final class DeviceRequirements {
    /** Numbers of linux/capability.h. */
    private static final int CAP_NET_ADMIN = 12;
    private static final int CAP_NET_RAW = 13;
    private static final int CAP_SYS_ADMIN = 21;
    private static final int CAP_PERFMON = 38;
    private static final int CAP_BPF = 39;
    /** From this version on the kernel's verifier takes the programs of AF_XDP without CAP_PERFMON. */
    private static final int[] WITHOUT_PERFMON = {6, 17};
    private static final Pattern VERSION = Pattern.compile("(\\d+)\\.(\\d+).*", Pattern.DOTALL);
    /** SECCOMP_MODE_FILTER of linux/seccomp.h. */
    private static final String SECCOMP_FILTER = "2";
    /** IFF_UP of linux/if.h. */
    private static final int IFF_UP = 1;
    private static final String XDP_PREFIX = "soft:xdp:";
    private static final int HEX = 16;

    private final Path root;
    private final boolean brokerNamed;

    /** The requirements on this host. */
    public DeviceRequirements() {
        this(Path.of("/"), CapabilityBroker.isNamed());
    }

    /**
     * The requirements on a host.
     *
     * @param root where its {@code proc} and {@code sys} are
     * @param brokerNamed whether rdma-raw-broker opens devices for the process, which then needs no capability
     */
    DeviceRequirements(Path root, boolean brokerNamed) {
        this.root = root;
        this.brokerNamed = brokerNamed;
    }

    /** Returns what is wanting, a sentence for each thing with what to do about it; empty if nothing is seen. */
    public List<String> missing(String deviceName) {
        DeviceName device = new DeviceName(deviceName);
        List<String> missing = new ArrayList<>();
        if (device.isLoopback()) {
            return missing;
        }
        if (device.isSoftware()) {
            addInterface(missing, device.interfaceName());
        }
        if (!brokerNamed) {
            addCapabilities(missing, deviceName.startsWith(XDP_PREFIX));
        }
        return missing;
    }

    /**
     * Returns what to add to the message of an error that a device gave: all that is wanting, and not only what the
     * kernel refused first. Empty if nothing is seen, or if the message has it.
     */
    public String addition(String deviceName, String message) {
        List<String> missing = missing(deviceName);
        String addition = missing.isEmpty() ? "" : ". Missing here: " + String.join("; ", missing);
        return message != null && message.endsWith(addition) ? "" : addition;
    }

    /** Returns what to throw in the place of an error that a device gave: one of rights says all that is wanting. */
    public static RuntimeException explained(RuntimeException error, String deviceName) {
        return error instanceof VerbsException e && (e.errno() == Errno.EPERM || e.errno() == Errno.EACCES)
                ? e.adding(new DeviceRequirements().addition(deviceName, e.getMessage())) : error;
    }

    private void addInterface(List<String> missing, String name) {
        Path directory = root.resolve("sys/class/net").resolve(name);
        if (!Files.isDirectory(directory)) {
            missing.add("there is no network interface " + name + " in this network namespace");
            return;
        }
        try {
            if ((Integer.decode(Files.readString(directory.resolve("flags")).strip()) & IFF_UP) == 0) {
                missing.add(name + " is down: ip link set dev " + name + " up");
            }
        } catch (IOException | NumberFormatException e) {
            // The kernel does not tell; opening the device will.
        }
    }

    private void addCapabilities(List<String> missing, boolean xdp) {
        long held = status("CapEff").map(hex -> Long.parseUnsignedLong(hex, HEX)).orElse(-1L);
        List<String> names = new ArrayList<>();
        if (!has(held, CAP_NET_RAW)) {
            names.add("CAP_NET_RAW");
        }
        if (xdp && !has(held, CAP_NET_ADMIN)) {
            names.add("CAP_NET_ADMIN");
        }
        // Kernels before 5.8 have neither of these; later ones accept CAP_SYS_ADMIN in their place.
        if (xdp && !has(held, CAP_BPF) && !has(held, CAP_SYS_ADMIN)) {
            names.add("CAP_BPF");
        }
        if (xdp && !has(held, CAP_PERFMON) && !has(held, CAP_SYS_ADMIN) && wantsPerfmon()) {
            names.add("CAP_PERFMON (before Linux 6.17)");
        }
        if (!names.isEmpty()) {
            missing.add("the process lacks " + String.join(", ", names) + ": run it as root, in a container with"
                    + " --cap-add, in a systemd unit with AmbientCapabilities, or use rdma-raw-broker"
                    + " (docs/security.md)" + (xdp && isFiltered() ? "; its seccomp profile has to allow bpf(2) too, as"
                    + " examples/containers/seccomp.json does" : ""));
        }
    }

    private boolean wantsPerfmon() {
        Matcher version = VERSION.matcher(read("proc/sys/kernel/osrelease"));
        if (!version.matches()) {
            return false;
        }
        int[] kernel = {Integer.parseInt(version.group(1)), Integer.parseInt(version.group(2))};
        return Arrays.compare(kernel, WITHOUT_PERFMON) < 0;
    }

    /** Whether a seccomp profile decides on the process's system calls: which of them cannot be seen. */
    private boolean isFiltered() {
        return status("Seccomp").filter(SECCOMP_FILTER::equals).isPresent();
    }

    private static boolean has(long set, int capability) {
        return (set >>> capability & 1) != 0;
    }

    /** Returns a field of proc_pid_status(5); empty if the kernel does not tell. */
    private Optional<String> status(String field) {
        return read("proc/self/status").lines().filter(line -> line.startsWith(field + ":")).findFirst()
                .map(line -> line.substring(field.length() + 1).strip());
    }

    private String read(String path) {
        try {
            return Files.readString(root.resolve(path));
        } catch (IOException e) {
            return "";
        }
    }
}
