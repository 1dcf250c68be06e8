package io.rdmaraw.tools.doctor;

import java.util.ArrayList;
import java.util.List;

/** What an RDMA device needs: the kernel's verbs, their device files, and a network device that is up. */
final class RdmaChecks {
    private final Host host;
    private final NetdevChecks netdevs;

    RdmaChecks(Host host, NetdevChecks netdevs) {
        this.host = host;
        this.netdevs = netdevs;
    }

    /** @param name an RDMA device such as mlx5_0, or the network device of one */
    List<Finding> check(String name) {
        List<Finding> findings = new ArrayList<>();
        String describedElsewhere = System.getenv("SYSFS_PATH");
        if (describedElsewhere != null) {
            // As libibverbs does. Such a device has neither a kernel driver nor device files that could be missing.
            findings.add(Finding.ok("RDMA device", name + " is emulated: see " + describedElsewhere));
            return findings;
        }
        List<String> devices = host.list("sys/class/infiniband");
        String device = devices.contains(name) ? name : behind(name, devices);
        if (device == null) {
            findings.add(Finding.fail("RDMA device", "there is no RDMA device '" + name + "' and none behind a network"
                    + " device of that name", devices.isEmpty()
                    ? "this host has no RDMA device (or its driver is not loaded: mlx5_ib): use soft:loop, or"
                            + " soft:xdp:<netdev> on a network device"
                    : "use one of: " + String.join(", ", devices)));
            return findings;
        }
        findings.add(Finding.ok("RDMA device", device));
        findings.add(deviceFiles());
        for (String netdev : host.list("sys/class/infiniband/" + device + "/device/net")) {
            findings.addAll(netdevs.check(netdev, false));
        }
        return findings;
    }

    private String behind(String netdev, List<String> devices) {
        return devices.stream()
                .filter(device -> host.list("sys/class/infiniband/" + device + "/device/net").contains(netdev))
                .findFirst().orElse(null);
    }

    private Finding deviceFiles() {
        boolean there = host.list("dev/infiniband").stream().anyMatch(file -> file.startsWith("uverbs"));
        return there ? Finding.ok("device files", "/dev/infiniband/uverbs* are there")
                : Finding.fail("device files", "/dev/infiniband/uverbs* are missing", "sudo modprobe ib_uverbs; in a"
                        + " container: --device /dev/infiniband");
    }
}
