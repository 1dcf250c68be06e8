package io.rdmaraw.tools.doctor;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Checks the requirements of a device on the process and the kernel: capabilities, locked memory, kernel options. */
final class HostChecks {
    /** The memory that an event loop registers with default settings: 4096 slots of 2 KiB. */
    static final long LOOP_MEMORY_BYTES = 4096L * 2048;
    /**
     * The memory of an AF_XDP receive queue for an MTU of up to 1774, and for a larger one: 3072 chunks
     * (softverbs/xdp_queue.h).
     */
    static final long QUEUE_BYTES = 3072L * 2112;
    static final long LARGE_QUEUE_BYTES = 3072L * 4160;
    private static final int MAX_SHORT_MTU = 1774;
    /** If the limit is low, softverbs uses a quarter of the memory. */
    private static final int MIN_SHARE = 4;
    /** Index of the drop counter in a line of /proc/net/softnet_stat (net/core/net-procfs.c). */
    private static final int SOFTNET_DROPPED_FIELD = 1;
    private static final String XDP_MODE = "SOFTVERBS_XDP_MODE";
    private static final String BROKER = "SOFTVERBS_BROKER";
    private static final String TUN_DEVICE = "dev/net/tun";
    /** The uid map of the initial user namespace: first user inside, first user outside, number of users. */
    private static final List<String> HOST_USERS = List.of("0", "0", "4294967295");
    private static final String SECCOMP_FILTERS = "2";
    private static final List<String> XDP_OPTIONS =
            List.of("CONFIG_BPF_SYSCALL", "CONFIG_XDP_SOCKETS");

    private final Host host;

    HostChecks(Host host) {
        this.host = host;
    }

    /**
     * Runs the checks.
     *
     * @param underlyingDevice the network device or RDMA device in the device name
     */
    List<Finding> check(DeviceKind kind, String underlyingDevice) {
        List<Finding> findings = new ArrayList<>();
        Optional<Finding> broker = broker(kind);
        broker.ifPresentOrElse(findings::add, () -> findings.addAll(capabilities(kind)));
        if (kind == DeviceKind.RDMA) {
            findings.add(registeredMemory());
        }
        if (kind == DeviceKind.XDP) {
            if (broker.isEmpty()) {
                findings.add(interfaceMemory(underlyingDevice));
            }
            XDP_OPTIONS.forEach(option -> findings.add(kernelOption(option)));
            tapDevice().ifPresent(findings::add);
            sharedFillRing().ifPresent(findings::add);
        }
        if (kind == DeviceKind.XDP || kind == DeviceKind.PACKET) {
            realTimeKernel().ifPresent(findings::add);
            if (broker.isEmpty()) {
                userNamespace(kind).ifPresent(findings::add);
                seccomp().ifPresent(findings::add);
            }
            kernelBacklog().ifPresent(findings::add);
        }
        findings.add(hugePages(kind));
        return findings;
    }

    /**
     * Returns a finding if rdma-raw-broker opens the device (softverbs/netdev_port.c). The capabilities, the locked
     * memory and the right to load eBPF programs are then the broker's, and {@link OpenCheck} shows whether the broker
     * grants the device.
     */
    private Optional<Finding> broker(DeviceKind kind) {
        return kind != DeviceKind.XDP || isTapMode() ? Optional.empty()
                : host.environment(BROKER).filter(path -> !path.isEmpty()).map(path -> Finding.ok("capability",
                        "none is needed: " + BROKER + " names rdma-raw-broker at " + path
                        + ", which opens the device"));
    }

    private boolean isTapMode() {
        return host.environment(XDP_MODE).equals(Optional.of("tap"));
    }

    /**
     * Returns the required capabilities. Before Linux 6.17 the verifier requires CAP_PERFMON for the AF_XDP programs
     * (softverbs/refusal.h).
     */
    private List<Capability> neededCapabilities(DeviceKind kind) {
        return kind != DeviceKind.XDP || host.isKernelFrom(6, 17) ? kind.capabilities()
                : Stream.concat(kind.capabilities().stream(), Stream.of(Capability.CAP_PERFMON)).toList();
    }

    private List<Finding> capabilities(DeviceKind kind) {
        List<Finding> findings = new ArrayList<>();
        List<Capability> needed = neededCapabilities(kind);
        Stream.concat(needed.stream(), kind.usefulCapabilities().stream()).filter(this::isHeld)
                .forEach(capability -> findings.add(Finding.ok("capability", capability + " is there")));
        List<Capability> missing = needed.stream().filter(each -> !isHeld(each)).toList();
        if (!missing.isEmpty()) {
            findings.add(Finding.fail("capability", names(missing, "", ", ") + (missing.size() == 1 ? " is" : " are")
                    + " missing" + (isRootsAlone(missing) ? ": they are there for root alone" : ""),
                    isRootsAlone(missing) ? "run the container as user 0: Docker and Kubernetes give what is added to"
                            + " root alone, podman to any user" : granting(needed)));
        }
        List<Capability> useful = kind.usefulCapabilities().stream().filter(each -> !isHeld(each)).toList();
        if (!useful.isEmpty()) {
            findings.add(Finding.warn("capability", "without " + names(useful, "", " and ") + " the kernel sees our"
                    + " frames too: it may reset TCP connections, and answers what rules without a port take",
                    granting(Stream.concat(kind.capabilities().stream(),
                            kind.usefulCapabilities().stream()).toList())));
        }
        return findings;
    }

    /**
     * Returns whether only root in this container could hold these capabilities. Containers restrict the bounding set;
     * without such a restriction, root holds all capabilities.
     */
    private boolean isRootsAlone(List<Capability> missing) {
        return !host.mayEverHave(Capability.CAP_SYS_ADMIN) && missing.stream().allMatch(host::mayEverHave);
    }

    /**
     * Returns whether the process holds a capability. CAP_SYS_ADMIN implies CAP_BPF and CAP_PERFMON, which kernels
     * before 5.8 do not have.
     */
    private boolean isHeld(Capability capability) {
        return host.hasCapability(capability)
                || (capability == Capability.CAP_BPF || capability == Capability.CAP_PERFMON)
                && host.hasCapability(Capability.CAP_SYS_ADMIN);
    }

    /**
     * Returns the ways to grant capabilities. setcap on the java binary is not one of them: the loader would ignore its
     * $ORIGIN paths, and java would not start.
     */
    private static String granting(List<Capability> wanted) {
        List<String> flags = wanted.stream().map(each -> '+' + each.shortName()).toList();
        return "run as root; in a systemd unit: AmbientCapabilities=" + names(wanted, "", " ") + "; in a container: "
                + names(wanted, "--cap-add ", " ").replace("CAP_", "") + "; in a shell: sudo setpriv --reuid $USER"
                + " --init-groups --inh-caps " + String.join(",", flags) + " --ambient-caps "
                + String.join(",", flags) + " COMMAND";
    }

    private static String names(List<Capability> capabilities, String before, String between) {
        return capabilities.stream().map(each -> before + each.name()).collect(Collectors.joining(between));
    }

    /**
     * Checks for CVE-2025-37920. The two sockets of a queue share a fill ring. Before Linux 6.15, each socket protected
     * the ring with its own lock, so that two processors could use the same chunk. The fix moved the lock to the pool.
     */
    private Optional<Finding> sharedFillRing() {
        if (host.isKernelFrom(6, 15) || hasPoolLock()) {
            return Optional.empty();
        }
        return Optional.of(Finding.warn("kernel", "if two processors receive frames of one queue in mode generic, this"
                + " kernel may put both into the same memory (CVE-2025-37920)",
                "update the kernel: Linux 6.15 and the updated kernels of distributions have the correction"));
    }

    private boolean hasPoolLock() {
        byte[] btf = host.readBytes("sys/kernel/btf/vmlinux");
        try {
            return new KernelTypes(btf).hasMember("xsk_buff_pool", "rx_lock");
        } catch (IllegalArgumentException | IndexOutOfBoundsException unreadable) {
            return false;
        }
    }

    /**
     * Checks for a PREEMPT_RT kernel. The eBPF programs have one work area per processor, and such a kernel may preempt
     * a program by another one on the same processor.
     */
    private Optional<Finding> realTimeKernel() {
        return host.read("sys/kernel/realtime").filter("1"::equals).map(on -> Finding.warn("kernel",
                "softverbs has not been tested on a PREEMPT_RT kernel, where two of its eBPF programs may overwrite"
                + " each other's work area and steer a frame to the wrong queue", "use the standard kernel"));
    }

    private Finding registeredMemory() {
        // The kernel counts registered memory for each process (ib_umem_get), and that of AF_XDP for each user
        // (xdp_umem_account_pages).
        return memlock(LOOP_MEMORY_BYTES + 1, Long.MAX_VALUE, "this process", String.format(Locale.ROOT,
                "each event loop registers %,d KiB by default", LOOP_MEMORY_BYTES >> 10), " (for more than one loop)");
    }

    /** Checks the memory limit for AF_XDP. Event loops register ordinary memory there, which does not count. */
    private Finding interfaceMemory(String netdev) {
        long queues = Math.max(1, host.list("sys/class/net/" + netdev + "/queues").stream()
                .filter(name -> name.startsWith("rx-")).count());
        boolean large = host.read("sys/class/net/" + netdev + "/mtu").map(Integer::parseInt).orElse(0) > MAX_SHORT_MTU;
        long wanted = queues * (large ? LARGE_QUEUE_BYTES : QUEUE_BYTES);
        return memlock(wanted / MIN_SHARE, wanted, "all processes of the user", String.format(Locale.ROOT,
                "%s has %d receive queues, which take %,d KiB, %,d at least", netdev, queues,
                wanted >> 10, wanted / MIN_SHARE >> 10),
                " (smaller rings until then), or fewer queues: ethtool -L");
    }

    /**
     * Checks the limit of locked memory.
     *
     * @param least  below this limit, the device cannot be opened
     * @param wanted below this limit, the device uses less memory
     * @param users  the processes that share the limit
     */
    private Finding memlock(long least, long wanted, String users, String use, String remark) {
        long limit = host.memlockBytes();
        if (host.hasCapability(Capability.CAP_IPC_LOCK)) {
            return Finding.ok("memlock", "CAP_IPC_LOCK lifts the limit");
        }
        if (limit == Long.MAX_VALUE) {
            return Finding.ok("memlock", "unlimited");
        }
        String text = String.format(Locale.ROOT, "%,d KiB for %s; %s", limit >> 10, users, use);
        String remedy = "ulimit -l unlimited, or LimitMEMLOCK=infinity in the systemd unit; in a container:"
                + " --ulimit memlock=-1 or --cap-add IPC_LOCK";
        return limit < least ? Finding.fail("memlock", text, remedy)
                : limit < wanted ? Finding.warn("memlock", text, remedy + remark) : Finding.ok("memlock", text);
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

    /** Checks /dev/net/tun, which tap mode uses to create its interface (softverbs/tap.c). */
    private Optional<Finding> tapDevice() {
        if (!isTapMode()) {
            return Optional.empty();
        }
        String use = XDP_MODE + "=tap makes its interface by /" + TUN_DEVICE;
        if (!host.exists(TUN_DEVICE)) {
            return Optional.of(Finding.fail("tap", use + ", which is not there",
                    "sudo modprobe tun; in a container: --device /" + TUN_DEVICE));
        }
        return Optional.of(host.mayUse(TUN_DEVICE) ? Finding.ok("tap", use) : Finding.fail("tap", use
                + ", which this user may not open", "sudo chmod 0666 /" + TUN_DEVICE + ": making an interface still"
                + " takes CAP_NET_ADMIN"));
    }

    /**
     * Checks the backlog queues. Interfaces without receive queues (veth, tun, bridges, and all with RPS) put frames
     * into one queue per processor. If it is full, frames are dropped before softverbs sees them. Only the kernel
     * counts these drops.
     */
    private Optional<Finding> kernelBacklog() {
        return host.read("proc/net/softnet_stat").map(text -> {
            long dropped = text.lines().map(line -> line.strip().split("\\s+"))
                    .filter(fields -> fields.length > SOFTNET_DROPPED_FIELD)
                    .mapToLong(fields -> Long.parseLong(fields[SOFTNET_DROPPED_FIELD], 16)).sum();
            return dropped == 0 ? Finding.ok("backlog", "the kernel's queues per processor lost nothing")
                    : Finding.warn("backlog", String.format(Locale.ROOT, "the kernel's queues per processor, where"
                    + " frames of veth and the like wait, had no room for %,d frames since the start", dropped),
                    "if it grows under your load: sudo sysctl net.core.netdev_max_backlog=10000");
        });
    }

    /** Checks for a user namespace. Its capabilities apply to its network, but not to eBPF (softverbs/refusal.c). */
    private Optional<Finding> userNamespace(DeviceKind kind) {
        boolean hosts = host.read("proc/self/uid_map").map(map -> map.split("\\s+")).filter(words -> words.length == 3)
                .map(List::of).filter(HOST_USERS::equals).isPresent();
        if (hosts || !host.exists("proc/self/uid_map")) {
            return Optional.empty();
        }
        String text = "this is a user namespace of its own, as in a rootless container: the kernel refuses it eBPF";
        return Optional.of(kind == DeviceKind.XDP
                ? Finding.fail("users", text, "run the container with the host's users, or use soft:packet:<netdev>")
                : Finding.warn("users", text + ", so that it sees our frames too",
                        "run the container with the host's users, and with CAP_BPF"));
    }

    private Optional<Finding> seccomp() {
        return host.valueOf("proc/self/status", "Seccomp:").filter(SECCOMP_FILTERS::equals)
                .map(filters -> Finding.ok("seccomp", "a profile is in force; it has to allow bpf(2), as"
                        + " examples/containers/seccomp.json does"));
    }

    /** Checks for free huge pages. A card translates the address of each slot, so its users get a warning. */
    private Finding hugePages(DeviceKind kind) {
        long free = host.valueOf("proc/meminfo", "HugePages_Free:").map(Long::parseLong).orElse(0L);
        if (free > 0) {
            return Finding.ok("huge pages", free + " are free");
        }
        String text = "none is free: normal pages serve, with more TLB misses";
        return kind == DeviceKind.RDMA ? Finding.warn("huge pages", text, "sudo sysctl vm.nr_hugepages=64")
                : Finding.ok("huge pages", text);
    }
}
