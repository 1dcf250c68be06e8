package io.rdmaraw.host;

import io.rdmaraw.net.CapabilityBroker;
import io.rdmaraw.verbs.DeviceName;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * What a device needs of the process and of the host, as far as it can be seen without opening it. The kernel refuses
 * one thing after the other; who sets a container up wants to hear of all of them at once.
 */
public final class DeviceRequirements {
    /** Numbers of linux/capability.h. */
    private static final int CAP_NET_ADMIN = 12;
    private static final int CAP_NET_RAW = 13;
    private static final int CAP_SYS_ADMIN = 21;
    private static final int CAP_BPF = 39;
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
        long held = heldCapabilities();
        List<String> names = new ArrayList<>();
        if (!has(held, CAP_NET_RAW)) {
            names.add("CAP_NET_RAW");
        }
        if (xdp && !has(held, CAP_NET_ADMIN)) {
            names.add("CAP_NET_ADMIN");
        }
        // Kernels before 5.8 have no CAP_BPF; later ones accept CAP_SYS_ADMIN in its place.
        if (xdp && !has(held, CAP_BPF) && !has(held, CAP_SYS_ADMIN)) {
            names.add("CAP_BPF");
        }
        if (!names.isEmpty()) {
            missing.add("the process lacks " + String.join(", ", names) + ": run it as root, in a container with"
                    + " --cap-add, in a systemd unit with AmbientCapabilities, or use rdma-raw-broker"
                    + " (docs/security.md)");
        }
    }

    private static boolean has(long set, int capability) {
        return (set >>> capability & 1) != 0;
    }

    /** Returns the effective capabilities (proc_pid_status(5)); all of them if the kernel does not tell. */
    private long heldCapabilities() {
        try {
            return Files.readString(root.resolve("proc/self/status")).lines().filter(line -> line.startsWith("CapEff:"))
                    .findFirst().map(line -> Long.parseUnsignedLong(line.substring("CapEff:".length()).strip(), HEX))
                    .orElse(-1L);
        } catch (IOException | NumberFormatException e) {
            return -1;
        }
    }
}
