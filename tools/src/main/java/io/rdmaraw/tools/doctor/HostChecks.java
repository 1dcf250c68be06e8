package io.rdmaraw.tools.doctor;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/** What a device needs from the process and the kernel: capabilities, memory, kernel options. */
final class HostChecks {
    /** The registered memory of one event loop with default settings: 4096 slots of 2 KiB. */
    static final long LOOP_MEMORY_BYTES = 4096L * 2048;
    private static final List<String> XDP_OPTIONS =
            List.of("CONFIG_BPF_SYSCALL", "CONFIG_XDP_SOCKETS");

    private final Host host;

    HostChecks(Host host) {
        this.host = host;
    }

    List<Finding> check(DeviceKind kind) {
        List<Finding> findings = new ArrayList<>();
        kind.capabilities().forEach(capability -> findings.add(capability(capability)));
        if (kind.locksMemory()) {
            findings.add(memlock());
        }
        if (kind == DeviceKind.XDP) {
            XDP_OPTIONS.forEach(option -> findings.add(kernelOption(option)));
        }
        findings.add(hugePages());
        return findings;
    }

    private Finding capability(Capability capability) {
        // Kernels before 5.8 have no CAP_BPF, and those after still take CAP_SYS_ADMIN for it.
        boolean held = host.hasCapability(capability)
                || capability == Capability.CAP_BPF && host.hasCapability(Capability.CAP_SYS_ADMIN);
        if (held) {
            return Finding.ok("capability", capability + " is there");
        }
        // Not setcap on the java binary: the loader then ignores its $ORIGIN paths and java does not start.
        String name = capability.name().substring("CAP_".length());
        return Finding.fail("capability", capability + " is missing", "run as root; in a systemd unit:"
                + " AmbientCapabilities=" + capability + "; in a container: --cap-add " + name + "; in a shell: sudo"
                + " setpriv --reuid $USER --init-groups --inh-caps +" + name.toLowerCase(Locale.ROOT)
                + " --ambient-caps +" + name.toLowerCase(Locale.ROOT) + " COMMAND");
    }

    private Finding memlock() {
        long limit = host.memlockBytes();
        if (host.hasCapability(Capability.CAP_IPC_LOCK)) {
            return Finding.ok("memlock", "CAP_IPC_LOCK lifts the limit");
        }
        if (limit == Long.MAX_VALUE) {
            return Finding.ok("memlock", "unlimited");
        }
        String text = String.format(Locale.ROOT, "%,d KiB; each event loop registers %,d KiB by default", limit >> 10,
                LOOP_MEMORY_BYTES >> 10);
        String remedy = "ulimit -l unlimited, or LimitMEMLOCK=infinity in the systemd unit; in a container:"
                + " --ulimit memlock=-1";
        return limit > LOOP_MEMORY_BYTES ? Finding.warn("memlock", text, remedy + " (for more than one loop)")
                : Finding.fail("memlock", text, remedy);
    }

    private Finding kernelOption(String option) {
        Optional<String> value = host.kernelOption(option);
        if (value.isEmpty()) {
            return Finding.ok("kernel", option + " cannot be read here; opening the device will tell");
        }
        return value.get().equals("n")
                ? Finding.fail("kernel", option + " is not set", "use a kernel with it, or soft:packet:<netdev>")
                : Finding.ok("kernel", option + '=' + value.get());
    }

    private Finding hugePages() {
        long free = host.valueOf("proc/meminfo", "HugePages_Free:").map(Long::parseLong).orElse(0L);
        return free > 0 ? Finding.ok("huge pages", free + " are free")
                : Finding.warn("huge pages", "none is free: normal pages serve, with more TLB misses",
                        "sudo sysctl vm.nr_hugepages=64");
    }
}
