package io.rdmaraw.host;

import io.rdmaraw.ffi.Errno;
import io.rdmaraw.net.BrokerConnection;
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
 * Checks the requirements of a device on the process and the host without opening the device. The kernel reports only
 * the first missing requirement; this class reports all of them, which makes it easier to set up a container.
 */
public final class DeviceRequirements {
    /** Constants of linux/capability.h. */
    private static final int CAP_NET_ADMIN = 12;
    private static final int CAP_NET_RAW = 13;
    private static final int CAP_SYS_ADMIN = 21;
    private static final int CAP_PERFMON = 38;
    private static final int CAP_BPF = 39;
    /** First kernel version that accepts the AF_XDP programs without CAP_PERFMON. */
    private static final int[] FIRST_KERNEL_WITHOUT_PERFMON = {6, 17};
    private static final Pattern VERSION = Pattern.compile("(\\d+)\\.(\\d+).*", Pattern.DOTALL);
    /** SECCOMP_MODE_FILTER of linux/seccomp.h. */
    private static final String SECCOMP_FILTER = "2";
    /** IFF_UP of linux/if.h. */
    private static final int IFF_UP = 1;
    private static final String XDP_PREFIX = "soft:xdp:";
    private static final int HEX = 16;

    private final Path root;
    private final boolean brokerNamed;

    /** Checks this host. */
    public DeviceRequirements() {
        this(Path.of("/"), BrokerConnection.isConfigured());
    }

    /**
     * Checks a host.
     *
     * @param root directory that contains its {@code proc} and {@code sys}
     * @param brokerNamed whether rdma-raw-broker opens devices for the process, which then needs no capability
     */
    DeviceRequirements(Path root, boolean brokerNamed) {
        this.root = root;
        this.brokerNamed = brokerNamed;
    }

    /** Returns the missing requirements, each as a sentence with a remedy. Empty if none is known. */
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
     * Returns a text with all missing requirements to append to the message of an error. Empty if none is known, or if
     * the message already ends with the text.
     */
    public String messageSuffix(String deviceName, String message) {
        List<String> missing = missing(deviceName);
        String addition = missing.isEmpty() ? "" : ". Missing here: " + String.join("; ", missing);
        return message != null && message.endsWith(addition) ? "" : addition;
    }

    /**
     * Returns the exception to throw instead of an error of a device. The message of a permission error is extended by
     * all missing requirements.
     */
    public static RuntimeException withMissingRequirements(RuntimeException error, String deviceName) {
        return error instanceof VerbsException e && (e.errno() == Errno.EPERM || e.errno() == Errno.EACCES)
                ? e.adding(new DeviceRequirements().messageSuffix(deviceName, e.getMessage())) : error;
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
            // The kernel does not provide the flags. Opening the device will report the error.
        }
    }

    private void addCapabilities(List<String> missing, boolean xdp) {
        long held = status("CapEff").map(hex -> Long.parseUnsignedLong(hex, HEX)).orElse(-1L);
        List<String> names = new ArrayList<>();
        if (!hasCapability(held, CAP_NET_RAW)) {
            names.add("CAP_NET_RAW");
        }
        if (xdp && !hasCapability(held, CAP_NET_ADMIN)) {
            names.add("CAP_NET_ADMIN");
        }
        // Kernels before 5.8 do not have these two capabilities; later ones accept CAP_SYS_ADMIN instead.
        if (xdp && !hasCapability(held, CAP_BPF) && !hasCapability(held, CAP_SYS_ADMIN)) {
            names.add("CAP_BPF");
        }
        if (xdp && !hasCapability(held, CAP_PERFMON) && !hasCapability(held, CAP_SYS_ADMIN) && needsPerfmon()) {
            names.add("CAP_PERFMON (before Linux 6.17)");
        }
        if (!names.isEmpty()) {
            missing.add("the process lacks " + String.join(", ", names) + ": run it as root, in a container with"
                    + " --cap-add, in a systemd unit with AmbientCapabilities, or use rdma-raw-broker"
                    + " (docs/reference/security.md)" + (xdp && isSeccompFiltered() ? "; its seccomp profile has to"
                    + " allow bpf(2) too, as examples/containers/seccomp.json does" : ""));
        }
    }

    private boolean needsPerfmon() {
        Matcher version = VERSION.matcher(read("proc/sys/kernel/osrelease"));
        if (!version.matches()) {
            return false;
        }
        int[] kernel = {Integer.parseInt(version.group(1)), Integer.parseInt(version.group(2))};
        return Arrays.compare(kernel, FIRST_KERNEL_WITHOUT_PERFMON) < 0;
    }

    /** Returns whether a seccomp profile filters the system calls of the process. The filter itself cannot be read. */
    private boolean isSeccompFiltered() {
        return status("Seccomp").filter(SECCOMP_FILTER::equals).isPresent();
    }

    private static boolean hasCapability(long set, int capability) {
        return (set >>> capability & 1) != 0;
    }

    /** Returns a field of proc_pid_status(5); empty if the kernel does not provide it. */
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
