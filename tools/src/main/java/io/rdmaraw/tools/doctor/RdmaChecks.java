package io.rdmaraw.tools.doctor;

import io.rdmaraw.verbs.port.PortInterfaces;
import io.rdmaraw.verbs.port.RdmaPort;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.Optional;

/**
 * Checks the requirements of an RDMA device: the verbs of the kernel, the device files, and a network device that is
 * up.
 */
final class RdmaChecks {
    private final Host host;
    private final NetdevChecks netdevs;
    private final PortInterfaces interfaces;

    RdmaChecks(Host host, NetdevChecks netdevs, PortInterfaces interfaces) {
        this.host = host;
        this.netdevs = netdevs;
        this.interfaces = interfaces;
    }

    /**
     * Runs the checks.
     *
     * @param name an RDMA device such as mlx5_0, or its network device
     */
    List<Finding> check(String name) {
        List<Finding> findings = new ArrayList<>();
        String describedElsewhere = System.getenv("SYSFS_PATH");
        if (describedElsewhere != null) {
            // libibverbs reads this directory, too. Such a device has neither a kernel driver nor device files to
            // check.
            findings.add(Finding.ok("RDMA device", name + " is emulated: see " + describedElsewhere));
            RdmaPort port = portOf(name);
            checkInterface(port != null ? port : new RdmaPort(name, 1), name, findings);
            return findings;
        }
        List<String> devices = host.list("sys/class/infiniband");
        RdmaPort port = portOf(name);
        if (port == null || !devices.contains(port.device())) {
            findings.add(Finding.fail("RDMA device", "there is no RDMA device '" + name + "' and none behind a network"
                    + " device of that name", remedy(name, devices)));
            return findings;
        }
        String device = port.device();
        findings.add(Finding.ok("RDMA device", device));
        findings.add(deviceFiles());
        node(device).ifPresent(findings::add);
        String netdev = checkInterface(port, name, findings);
        if (netdev != null) {
            findings.addAll(netdevs.check(netdev, false));
        }
        return findings;
    }

    private String remedy(String name, List<String> devices) {
        if (host.list("sys/class/net").contains(name)) {
            return "soft:xdp:" + name + " runs on this interface; if it is a ConnectX: sudo modprobe mlx5_ib, and the"
                    + " packages rdma-core and ibverbs-providers";
        }
        return devices.isEmpty() ? "this host has no RDMA device. With a ConnectX: sudo modprobe mlx5_ib, and the"
                + " packages rdma-core and ibverbs-providers; from another network namespace: rdma dev set DEV netns"
                + " PID. Without: soft:loop, or soft:xdp:NETDEV on a network interface"
                : "use one of: " + String.join(", ", devices);
    }

    /** Checks the network interface of the port and returns it, or null if there is none. */
    private String checkInterface(RdmaPort port, String name, List<Finding> findings) {
        String device = port.device();
        String netdev = interfaces.interfaceOf(device, port.number());
        if (netdev == null) {
            findings.add(Finding.warn("netdev", "the network interface of " + device + " is not in this network"
                    + " namespace: only raw channels and hosts of your own work, with the port's active MTU or that of"
                    + " -Dio.rdmaraw.mtuBytes", "ip link set DEV netns PID moves it here"));
        } else if (interfaces.bondProblem(netdev) != null) {
            // Raw channels on one device of the bond work.
            String remedy = "set up RoCE LAG, or take the port out of the bond";
            String problem = interfaces.bondProblem(netdev);
            findings.add(name.equals(device) ? Finding.warn("bond", problem, remedy)
                    : Finding.fail("bond", problem, remedy));
        } else if (interfaces.isVirtualFunction(netdev)) {
            findings.add(Finding.warn("netdev", netdev + " is a virtual function: to send from other MAC addresses"
                    + " than its own, the process needs the host's consent",
                    "on the host: ip link set PF vf N spoofchk off trust on"));
        }
        return netdev;
    }

    /** Returns the port that is used if a device is opened by this name, or null. */
    private RdmaPort portOf(String name) {
        return interfaces.isDevice(name) ? new RdmaPort(name, interfaces.ownPortOf(name)) : interfaces.portOf(name);
    }

    /**
     * Warns if the process may run on another NUMA node than the card. Its loops would then access the rings across the
     * interconnect of the processors.
     */
    private Optional<Finding> node(String device) {
        String node = host.read("sys/class/infiniband/" + device + "/device/numa_node").orElse("-1");
        BitSet near = processors(host.read("sys/devices/system/node/node" + node + "/cpulist").orElse(""));
        BitSet far = processors(host.valueOf("proc/self/status", "Cpus_allowed_list:").orElse(""));
        far.andNot(near);
        if (near.isEmpty() || far.isEmpty()) {
            return Optional.empty();
        }
        return Optional.of(Finding.warn("NUMA", device + " is on node " + node + ", and loops may run on others",
                "numactl --cpunodebind=" + node + " --preferred=" + node + " java ..."));
    }

    /** Parses a list of processors such as 0-3,8. */
    private static BitSet processors(String list) {
        BitSet processors = new BitSet();
        for (String range : list.split(",")) {
            String[] ends = range.split("-");
            if (!ends[0].isBlank()) {
                processors.set(Integer.parseInt(ends[0]), Integer.parseInt(ends[ends.length - 1]) + 1);
            }
        }
        return processors;
    }

    private Finding deviceFiles() {
        boolean there = host.list("dev/infiniband").stream().anyMatch(file -> file.startsWith("uverbs"));
        return there ? Finding.ok("device files", "/dev/infiniband/uverbs* are there")
                : Finding.fail("device files", "/dev/infiniband/uverbs* are missing", "sudo modprobe ib_uverbs; in a"
                        + " container: --device /dev/infiniband");
    }
}
