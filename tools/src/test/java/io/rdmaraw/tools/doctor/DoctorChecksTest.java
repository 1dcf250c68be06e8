package io.rdmaraw.tools.doctor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmaraw.ffi.Errno;
import io.rdmaraw.tools.doctor.Finding.Severity;
import io.rdmaraw.verbs.VerbsException;
import io.rdmaraw.verbs.objects.PortAttributes;
import io.rdmaraw.verbs.port.PortInterfaces;
import io.rdmaraw.verbs.softverbs.InterfaceInfo;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The checks on simulated hosts, which consist of files. */
class DoctorChecksTest {
    @TempDir
    private Path root;
    private Host host;
    private HostChecks hostChecks;
    private NetdevChecks netdevChecks;
    private String features = "";
    private String driver = "igb";

    @BeforeEach
    void aHostWithoutAnything() throws IOException {
        host = new Host(root);
        hostChecks = new HostChecks(host);
        netdevChecks = new NetdevChecks(host, netdev -> Optional.ofNullable(features), netdev -> Optional.of(
                new InterfaceInfo(driver, false, 0, 0, 0, 0, 0, false, 0)));
        write("proc/self/status", "Name:\tjava\nCapEff:\t0000000000000000\n");
        write("proc/self/limits", "Limit                     Soft Limit           Hard Limit           Units\n"
                + "Max locked memory         8388608              8388608              bytes\n");
        write("proc/meminfo", "MemTotal: 1 kB\nHugePages_Free:        0\n");
        write("proc/sys/kernel/osrelease", "6.18.0-test\n");
    }

    /**
     * A link that becomes active after the driver has reset the card, as igb does in native mode, is reported as
     * active.
     */
    @Test
    void aLinkThatComesBackAfterTheDriverHasResetTheCardIsActive() {
        Iterator<Integer> states = List.of(PortAttributes.STATE_DOWN, PortAttributes.STATE_DOWN,
                PortAttributes.STATE_ACTIVE).iterator();
        assertEquals(Finding.ok("port 1", "is active"),
                OpenCheck.port(1, () -> portIn(states.next()), TimeUnit.MINUTES.toNanos(1)));
        assertEquals(Severity.FAIL, OpenCheck.port(1, () -> portIn(PortAttributes.STATE_DOWN), 0).severity());
    }

    /** The interface of a running server passes: the server has opened it. */
    @Test
    void processOfThisTransportThatUsesTheDeviceIsNoFault() throws IOException {
        write("proc/1234/comm", "java\n");
        assertEquals(Finding.ok("open", "soft:xdp:eth0 is in use by process 1234 (java) of user 0, a server or client"
                + " of this transport"), OpenCheck.refused(host, "soft:xdp:eth0", busy("'eth0' is in use"
                + " (process 1234 of user 0) as soft:xdp:eth0, and in this mode an interface has one user at a time")));
        assertFinding(Severity.OK, "in use by a process of another PID namespace of user 7", "",
                List.of(OpenCheck.refused(host, "soft:xdp:eth0", busy("'eth0' is in use (of user 7) in another"
                        + " mode: end that program first, or use its mode"))));
    }

    /** Whatever softverbs says of another user is recognised. */
    @Test
    void sentencesOfSoftverbsAreRecognised() throws IOException {
        String guard = Files.readString(Path.of("..", "transport-rdma-raw-native/softverbs/guard.c"));
        List<String> sentences = Pattern.compile("sv_explain\\(EBUSY,\\s*\"([^\"]*)\"").matcher(guard).results()
                .map(sentence -> sentence.group(1)).toList();
        assertTrue(sentences.size() >= 3, sentences.toString());
        for (String sentence : sentences) {
            String message = sentence.replaceFirst("'%s'", "'eth0.7'").replaceFirst("%s", " (process 12 of user 0)");
            assertFinding(Severity.OK, "in use by process 12 of user 0", "",
                    List.of(OpenCheck.refused(host, "soft:xdp:eth0.7", busy(message))));
        }
    }

    @Test
    void otherProgramThatUsesTheDeviceIsNamed() {
        assertFinding(Severity.FAIL, "'eth0' has the XDP program 'firewall' (id 12)", "end the program",
                List.of(OpenCheck.refused(host, "soft:xdp:eth0",
                        busy("'eth0' has the XDP program 'firewall' (id 12)"))));
    }

    private static VerbsException busy(String explanation) {
        return VerbsException.explained("ibv_open_device", Errno.EBUSY, "cannot open soft:xdp:eth0", explanation);
    }

    private static PortAttributes portIn(int state) {
        return new PortAttributes(state, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, PortAttributes.LINK_LAYER_ETHERNET, 0,
                Map.of());
    }

    @Test
    void theLoopDeviceNeedsNothing() {
        assertEquals(List.of(Severity.OK),
                hostChecks.check(DeviceKind.LOOP, "eth0").stream().map(Finding::severity).toList());
    }

    @Test
    void onlyUsersOfACardAreAdvisedToReserveHugePages() {
        assertFinding(Severity.WARN, "none is free", "vm.nr_hugepages", hostChecks.check(DeviceKind.RDMA, "eth0"));
        assertFinding(Severity.OK, "none is free", "", hostChecks.check(DeviceKind.XDP, "eth0"));
        assertFinding(Severity.OK, "none is free", "", hostChecks.check(DeviceKind.PACKET, "eth0"));
    }

    @Test
    void missingCapabilitiesAreNamed() {
        assertFinding(Severity.FAIL, "CAP_NET_RAW is missing", "--cap-add NET_RAW",
                hostChecks.check(DeviceKind.RDMA, "eth0"));
        assertFinding(Severity.FAIL, "CAP_NET_RAW, CAP_NET_ADMIN, CAP_BPF are missing",
                "--ambient-caps +net_raw,+net_admin,+bpf COMMAND", hostChecks.check(DeviceKind.XDP, "eth0"));
    }

    @Test
    void capabilitiesThatOnlyHelpAreNoFault() throws IOException {
        assertFinding(Severity.FAIL, "CAP_NET_RAW is missing", "", hostChecks.check(DeviceKind.PACKET, "eth0"));
        write("proc/self/status", "CapEff:\t0000000000002000\n");
        List<Finding> findings = hostChecks.check(DeviceKind.PACKET, "eth0");
        assertFinding(Severity.WARN, "without CAP_NET_ADMIN and CAP_BPF", "--cap-add NET_RAW --cap-add NET_ADMIN",
                findings);
        assertTrue(findings.stream().noneMatch(finding -> finding.severity() == Severity.FAIL), findings.toString());
    }

    @Test
    void processNeedsNothingThatTheBrokerHas() throws IOException {
        write("proc/self/limits", "Max locked memory         65536   65536   bytes\n");
        write("proc/self/uid_map", "         0     100000      65536\n");
        write("proc/self/environ", "SOFTVERBS_BROKER=/run/rdma-raw/broker.sock\0");
        List<Finding> findings = hostChecks.check(DeviceKind.XDP, "eth0");
        assertFinding(Severity.OK, "none is needed: SOFTVERBS_BROKER names rdma-raw-broker at"
                + " /run/rdma-raw/broker.sock", "", findings);
        assertTrue(findings.stream().noneMatch(finding -> finding.severity() == Severity.FAIL), findings.toString());
    }

    /** The broker opens no packet sockets, and mode tap sends through them. An empty name is none. */
    @Test
    void brokerIsOfNoUseToOtherDevices() throws IOException {
        write("proc/self/environ", "SOFTVERBS_BROKER=/run/rdma-raw/broker.sock\0SOFTVERBS_XDP_MODE=tap\0");
        String missing = "CAP_NET_RAW, CAP_NET_ADMIN, CAP_BPF are missing";
        assertFinding(Severity.FAIL, missing, "", hostChecks.check(DeviceKind.XDP, "eth0"));
        assertFinding(Severity.FAIL, "CAP_NET_RAW is missing", "", hostChecks.check(DeviceKind.PACKET, "eth0"));
        assertFinding(Severity.FAIL, "CAP_NET_RAW is missing", "", hostChecks.check(DeviceKind.RDMA, "mlx5_0"));
        write("proc/self/environ", "SOFTVERBS_BROKER=\0");
        assertFinding(Severity.FAIL, missing, "", hostChecks.check(DeviceKind.XDP, "eth0"));
    }

    @Test
    void aKernelThatMayMixFramesOfTwoProcessorsIsNamed() throws IOException {
        String fault = "CVE-2025-37920";
        assertTrue(hostChecks.check(DeviceKind.XDP, "eth0").stream().noneMatch(f -> f.text().contains(fault)));
        write("proc/sys/kernel/osrelease", "6.1.0-18-amd64\n");
        assertFinding(Severity.WARN, fault, "update the kernel", hostChecks.check(DeviceKind.XDP, "eth0"));
        writeTypes("xsk_buff_pool", "dev", "free_list");
        assertFinding(Severity.WARN, fault, "update the kernel", hostChecks.check(DeviceKind.XDP, "eth0"));
        writeTypes("xsk_buff_pool", "dev", "rx_lock", "free_list");
        assertTrue(hostChecks.check(DeviceKind.XDP, "eth0").stream().noneMatch(f -> f.text().contains(fault)));
        writeTypes("xdp_sock", "rx_lock");
        assertFinding(Severity.WARN, fault, "update the kernel", hostChecks.check(DeviceKind.XDP, "eth0"));
    }

    @Test
    void realTimeKernelIsNamed() throws IOException {
        assertTrue(hostChecks.check(DeviceKind.XDP, "eth0").stream().noneMatch(f -> f.text().contains("PREEMPT_RT")));
        write("sys/kernel/realtime", "1\n");
        assertFinding(Severity.WARN, "PREEMPT_RT", "use the standard kernel",
                hostChecks.check(DeviceKind.XDP, "eth0"));
        assertFinding(Severity.WARN, "PREEMPT_RT", "use the standard kernel",
                hostChecks.check(DeviceKind.PACKET, "eth0"));
        assertTrue(hostChecks.check(DeviceKind.RDMA, "eth0").stream().noneMatch(f -> f.text().contains("PREEMPT_RT")));
    }

    /** Writes BTF with an integer, a function and the structure, as the kernel's file has them. */
    private void writeTypes(String structure, String... members) throws IOException {
        StringBuilder names = new StringBuilder("\0int\0").append(structure).append('\0');
        ByteBuffer types = ByteBuffer.allocate(4096).order(ByteOrder.nativeOrder());
        types.putInt(1).putInt(1 << 24).putInt(4).putInt(32);
        types.putInt(0).putInt(13 << 24 | 1).putInt(0).putInt(0).putInt(1);
        types.putInt(5).putInt(4 << 24 | members.length).putInt(8);
        for (String member : members) {
            types.putInt(names.length()).putInt(1).putInt(0);
            names.append(member).append('\0');
        }
        ByteBuffer all = ByteBuffer.allocate(24 + types.position() + names.length()).order(ByteOrder.nativeOrder());
        all.putShort((short) 0xeb9f).put((byte) 1).put((byte) 0).putInt(24).putInt(0).putInt(types.position())
                .putInt(types.position()).putInt(names.length());
        all.put(types.flip()).put(names.toString().getBytes(StandardCharsets.US_ASCII));
        Path file = root.resolve("sys/kernel/btf/vmlinux");
        Files.createDirectories(file.getParent());
        Files.write(file, all.array());
    }

    @Test
    void capabilitiesAreReadFromTheEffectiveSet() throws IOException {
        // Bits 12, 13 and 39: CAP_NET_ADMIN, CAP_NET_RAW and CAP_BPF.
        write("proc/self/status", "CapPrm:\t0\nCapEff:\t0000008000003000\n");
        assertTrue(hostChecks.check(DeviceKind.XDP, "eth0").stream()
                .noneMatch(finding -> finding.subject().equals("capability") && finding.severity() == Severity.FAIL));
        // CAP_SYS_ADMIN instead of CAP_BPF.
        write("proc/self/status", "CapEff:\t0000000000203000\n");
        assertFinding(Severity.OK, "CAP_BPF is there", "", hostChecks.check(DeviceKind.XDP, "eth0"));
    }

    @Test
    void olderKernelsWantOneMoreCapability() throws IOException {
        write("proc/self/status", "CapEff:\t0000008000003000\n");
        for (String older : List.of("6.16.12-cloud", "6.1.0-50-amd64", "5.18.0")) {
            write("proc/sys/kernel/osrelease", older + "\n");
            assertFinding(Severity.FAIL, "CAP_PERFMON is missing", "--cap-add PERFMON",
                    hostChecks.check(DeviceKind.XDP, "eth0"));
        }
        write("proc/self/status", "CapEff:\t000000c000003000\n");
        assertFinding(Severity.OK, "CAP_PERFMON is there", "", hostChecks.check(DeviceKind.XDP, "eth0"));
        for (String newer : List.of("6.17.0", "7.1.4", "")) {
            write("proc/sys/kernel/osrelease", newer + "\n");
            assertTrue(hostChecks.check(DeviceKind.XDP, "eth0").stream()
                    .noneMatch(finding -> finding.text().contains("PERFMON")), newer);
        }
    }

    @Test
    void containerUserWithoutCapabilitiesIsReported() throws IOException {
        write("proc/self/status", "CapEff:\t0000000000000000\nCapBnd:\t0000008000003000\n");
        assertFinding(Severity.FAIL, "they are there for root alone", "as user 0",
                hostChecks.check(DeviceKind.XDP, "eth0"));
        write("proc/self/status", "CapEff:\t0000000000000000\nCapBnd:\t0000000000003000\n");
        assertFinding(Severity.FAIL, "CAP_BPF are missing", "--cap-add BPF", hostChecks.check(DeviceKind.XDP, "eth0"));
        write("proc/self/status", "CapEff:\t0000000000000000\nCapBnd:\t000001ffffffffff\n");
        assertFinding(Severity.FAIL, "CAP_BPF are missing", "run as root", hostChecks.check(DeviceKind.XDP, "eth0"));
    }

    @Test
    void separateUserNamespaceIsReported() throws IOException {
        write("proc/self/uid_map", "         0          0 4294967295\n");
        assertTrue(hostChecks.check(DeviceKind.XDP, "eth0").stream().noneMatch(f -> f.subject().equals("users")));
        write("proc/self/uid_map", "         0     100000      65536\n");
        assertFinding(Severity.FAIL, "refuses it eBPF", "soft:packet:", hostChecks.check(DeviceKind.XDP, "eth0"));
        assertFinding(Severity.WARN, "it sees our frames too", "host's users",
                hostChecks.check(DeviceKind.PACKET, "eth0"));
        assertTrue(hostChecks.check(DeviceKind.LOOP, "").stream().noneMatch(f -> f.subject().equals("users")));
    }

    @Test
    void seccompProfileIsReported() throws IOException {
        write("proc/self/status", "CapEff:\t0000000000000000\nSeccomp:\t2\nSeccomp_filters:\t1\n");
        assertFinding(Severity.OK, "it has to allow bpf(2)", "", hostChecks.check(DeviceKind.XDP, "eth0"));
        write("proc/self/status", "CapEff:\t0000000000000000\nSeccomp:\t0\n");
        assertTrue(hostChecks.check(DeviceKind.XDP, "eth0").stream().noneMatch(f -> f.subject().equals("seccomp")));
    }

    @Test
    void memlockMustHoldTheMemoryOfALoop() throws IOException {
        assertFinding(Severity.FAIL, "KiB for this process; each event loop registers 8,192 KiB", "ulimit -l unlimited",
                hostChecks.check(DeviceKind.RDMA, "eth0"));
        write("proc/self/limits", "Max locked memory         16777216   unlimited   bytes\n");
        assertFinding(Severity.WARN, "16,384 KiB", "more than one loop", hostChecks.check(DeviceKind.RDMA, "eth0"));
        write("proc/self/limits", "Max locked memory         unlimited   unlimited   bytes\n");
        assertFinding(Severity.OK, "unlimited", "", hostChecks.check(DeviceKind.RDMA, "eth0"));
        write("proc/self/limits", "Max locked memory         65536   65536   bytes\n");
        write("proc/self/status", "CapEff:\t0000000000004000\n");
        assertFinding(Severity.OK, "CAP_IPC_LOCK", "", hostChecks.check(DeviceKind.RDMA, "eth0"));
    }

    @Test
    void memlockMustHoldTheMemoryOfTheInterfacesQueues() throws IOException {
        write("sys/class/net/eth0/mtu", "1500");
        write("sys/class/net/eth0/queues/rx-0/rps_cpus", "0");
        write("sys/class/net/eth0/queues/rx-1/rps_cpus", "0");
        write("sys/class/net/eth0/queues/tx-0/xps_cpus", "0");
        assertFinding(Severity.WARN, "eth0 has 2 receive queues, which take 12,672 KiB, 3,168 at least", "ethtool -L",
                hostChecks.check(DeviceKind.XDP, "eth0"));
        write("proc/self/limits", "Max locked memory         65536   65536   bytes\n");
        assertFinding(Severity.FAIL, "64 KiB for all processes", "LimitMEMLOCK",
                hostChecks.check(DeviceKind.XDP, "eth0"));
        write("proc/self/limits", "Max locked memory         16777216   16777216   bytes\n");
        assertFinding(Severity.OK, "16,384 KiB", "", hostChecks.check(DeviceKind.XDP, "eth0"));
        write("sys/class/net/eth0/mtu", "9000");
        assertFinding(Severity.WARN, "24,960 KiB", "", hostChecks.check(DeviceKind.XDP, "eth0"));
    }

    @Test
    void anInterfaceOfOurOwnTakesTheTunDevice() throws IOException {
        write("proc/self/environ", "PATH=/bin\0NOT_SOFTVERBS_XDP_MODE=tap\0SOFTVERBS_XDP_MODE=native\0");
        assertTrue(hostChecks.check(DeviceKind.XDP, "eth0").stream().noneMatch(f -> f.subject().equals("tap")));
        write("proc/self/environ", "PATH=/bin\0SOFTVERBS_XDP_MODE=tap\0HOME=/\0");
        assertFinding(Severity.FAIL, "/dev/net/tun, which is not there", "modprobe tun",
                hostChecks.check(DeviceKind.XDP, "eth0"));
        assertTrue(hostChecks.check(DeviceKind.PACKET, "eth0").stream().noneMatch(f -> f.subject().equals("tap")));
        write("dev/net/tun", "");
        assertFinding(Severity.OK, "by /dev/net/tun", "", hostChecks.check(DeviceKind.XDP, "eth0"));
    }

    @Test
    void framesLostInTheBacklogOfTheKernelAreReported() throws IOException {
        write("proc/net/softnet_stat", "14e75a25 00000000 00000013 00000000\n11e39508 00000000 0000000d 00000000\n");
        assertFinding(Severity.OK, "lost nothing", "", hostChecks.check(DeviceKind.XDP, "eth0"));
        write("proc/net/softnet_stat", "14e75a25 00000010 00000013 00000000\n11e39508 000fffff 0000000d 00000000\n");
        assertFinding(Severity.WARN, "no room for 1,048,591 frames", "netdev_max_backlog",
                hostChecks.check(DeviceKind.PACKET, "eth0"));
        assertTrue(hostChecks.check(DeviceKind.RDMA, "eth0").stream()
                .noneMatch(finding -> finding.subject().equals("backlog")));
    }

    @Test
    void kernelOptionsComeFromBootOrProc() throws IOException {
        assertFinding(Severity.OK, "CONFIG_XDP_SOCKETS cannot be read", "", hostChecks.check(DeviceKind.XDP, "eth0"));
        write("boot/config-6.18.0-test", "CONFIG_BPF_SYSCALL=y\n# CONFIG_XDP_SOCKETS is not set\n");
        assertFinding(Severity.OK, "CONFIG_BPF_SYSCALL=y", "", hostChecks.check(DeviceKind.XDP, "eth0"));
        assertFinding(Severity.FAIL, "CONFIG_XDP_SOCKETS is not set", "soft:packet",
                hostChecks.check(DeviceKind.XDP, "eth0"));
        try (var out = new GZIPOutputStream(Files.newOutputStream(root.resolve("proc/config.gz")))) {
            out.write("CONFIG_BPF_SYSCALL=y\nCONFIG_XDP_SOCKETS=y\n".getBytes());
        }
        assertFinding(Severity.OK, "CONFIG_XDP_SOCKETS=y", "", hostChecks.check(DeviceKind.XDP, "eth0"));
    }

    @Test
    void networkDevicesMustExistBeUpAndFit() throws IOException {
        netdev("eth0", "0x1003", "1", "1500");
        netdev("eth1", "0x1002", "", "9000");
        netdev("lo", "0x9", "1", "65536");
        assertFinding(Severity.FAIL, "no network device 'eth7'", "eth0, eth1, lo", netdevChecks.check("eth7", true));
        assertFinding(Severity.OK, "eth0 is up", "", netdevChecks.check("eth0", true));
        assertFinding(Severity.OK, "eth0 has 1500", "", netdevChecks.check("eth0", true));
        assertFinding(Severity.FAIL, "eth1 is down", "ip link set dev eth1 up", netdevChecks.check("eth1", true));
        assertFinding(Severity.FAIL, "eth1 has 9000", "mtu 1500", netdevChecks.check("eth1", true));
        assertFinding(Severity.WARN, "loopback", "veth", netdevChecks.check("lo", true));
        netdev("eth0", "0x1003", "0", "1500");
        assertFinding(Severity.FAIL, "no carrier", "cable", netdevChecks.check("eth0", true));
    }

    @Test
    void offloadsThatMergeFramesAreNamed() throws IOException {
        netdev("eth0", "0x1003", "1", "1500");
        features = "generic-receive-offload: on\nlarge-receive-offload: off [fixed]\nrx-vlan-offload: on\n";
        assertFinding(Severity.WARN, "gro, rxvlan on", "ethtool -K eth0 gro off rxvlan off",
                netdevChecks.check("eth0", true));
        assertTrue(netdevChecks.check("eth0", false).stream().noneMatch(f -> f.subject().equals("offloads")));
        features = null;
        assertFinding(Severity.WARN, "no ethtool", "apt-get", netdevChecks.check("eth0", true));
    }

    /** A veth end has {@code rxvlan} on from its creation, and the library opens it so. */
    @Test
    void vethPairKeepsItsVlanOffload() throws IOException {
        netdev("veth0", "0x1003", "1", "1500");
        driver = "veth";
        features = "generic-receive-offload: off\nrx-vlan-offload: on\n";
        assertTrue(netdevChecks.check("veth0", true).stream().allMatch(f -> f.severity() == Severity.OK));
        features = "generic-receive-offload: on\nrx-vlan-offload: on\n";
        assertFinding(Severity.WARN, "gro on", "ethtool -K veth0 gro off", netdevChecks.check("veth0", true));
    }

    @Test
    void rdmaDevicesAreFoundByTheirOwnNameOrTheirNetdevs() throws IOException {
        RdmaChecks checks = new RdmaChecks(host, netdevChecks, PortInterfaces.ofFiles(root.resolve("sys")));
        assertFinding(Severity.FAIL, "no RDMA device 'mlx5_0'", "modprobe mlx5_ib", checks.check("mlx5_0"));
        netdev("eth7", "0x1003", "1", "1500");
        assertFinding(Severity.FAIL, "none behind a network device", "soft:xdp:eth7 runs", checks.check("eth7"));
        write("sys/class/infiniband/mlx5_0/device/net/ens1/mtu", "1500");
        write("sys/class/net/ens1/device/infiniband/mlx5_0/node_guid", "");
        netdev("ens1", "0x1003", "1", "1500");
        assertFinding(Severity.FAIL, "uverbs* are missing", "ib_uverbs", checks.check("mlx5_0"));
        write("dev/infiniband/uverbs0", "");
        assertFinding(Severity.OK, "uverbs* are there", "", checks.check("ens1"));
        assertFinding(Severity.OK, "mlx5_0", "", checks.check("ens1"));
        assertFinding(Severity.OK, "ens1 is up", "", checks.check("ens1"));
        assertFinding(Severity.FAIL, "no RDMA device 'ens2'", "use one of: mlx5_0", checks.check("ens2"));
        write("sys/class/net/ens1/device/physfn/vendor", "0x15b3");
        assertFinding(Severity.WARN, "ens1 is a virtual function", "spoofchk off", checks.check("mlx5_0"));
        write("sys/class/infiniband/mlx5_1/node_guid", "");
        assertFinding(Severity.WARN, "not in this network namespace", "ip link set DEV netns", checks.check("mlx5_1"));
    }

    @Test
    void framesThatACardHasDroppedAreReported() {
        String statistics = "NIC statistics:\n     rx_out_of_buffer: 4\n     rx_discards_phy: %d\n";
        assertFinding(Severity.OK, "rx_discards_phy of ethtool -S is not known", "", LossChecks.check(0, ""));
        assertEquals(List.of(Finding.ok("lost frames", "none")), LossChecks.check(0, statistics.formatted(0)));
        List<Finding> both = LossChecks.check(12, statistics.formatted(34));
        assertFinding(Severity.WARN, "12 frames found no posted receive", "receiveQueueDepth", both);
        assertFinding(Severity.WARN, "34 frames arrived", "PCIe", both);
    }

    @Test
    void cardOnOtherNumaNodeThanTheLoopsIsReported() throws IOException {
        RdmaChecks checks = new RdmaChecks(host, netdevChecks, PortInterfaces.ofFiles(root.resolve("sys")));
        write("sys/class/infiniband/mlx5_0/device/numa_node", "1");
        write("sys/devices/system/node/node0/cpulist", "0-3,8-11");
        write("sys/devices/system/node/node1/cpulist", "4-7,12");
        write("proc/self/status", "Cpus_allowed_list:\t4-7,12\n");
        assertTrue(checks.check("mlx5_0").stream().noneMatch(finding -> finding.subject().equals("NUMA")));
        write("proc/self/status", "Cpus_allowed_list:\t2,4-6\n");
        assertFinding(Severity.WARN, "mlx5_0 is on node 1", "--cpunodebind=1", checks.check("mlx5_0"));
        write("sys/class/infiniband/mlx5_0/device/numa_node", "-1");
        assertTrue(checks.check("mlx5_0").stream().noneMatch(finding -> finding.subject().equals("NUMA")));
    }

    @Test
    void namesTellTheKindOfDevice() {
        assertEquals(DeviceKind.LOOP, DeviceKind.of("soft:loop:a"));
        assertEquals(DeviceKind.XDP, DeviceKind.of("soft:xdp:eth0"));
        assertEquals("eth0", DeviceKind.XDP.underlyingDevice("soft:xdp:eth0"));
        assertEquals(DeviceKind.PACKET, DeviceKind.of("soft:packet:eth0"));
        assertEquals(DeviceKind.RDMA, DeviceKind.of("mlx5_0"));
        assertEquals("mlx5_0", DeviceKind.RDMA.underlyingDevice("mlx5_0"));
    }

    private static void assertFinding(Severity severity, String text, String remedy, List<Finding> findings) {
        assertTrue(findings.stream().anyMatch(finding -> finding.severity() == severity
                && finding.text().contains(text) && finding.remedy().contains(remedy)), findings.toString());
    }

    private void netdev(String name, String flags, String carrier, String mtu) throws IOException {
        write("sys/class/net/" + name + "/flags", flags + '\n');
        write("sys/class/net/" + name + "/carrier", carrier + '\n');
        write("sys/class/net/" + name + "/mtu", mtu + '\n');
    }

    private void write(String file, String text) throws IOException {
        Path path = root.resolve(file);
        Files.createDirectories(path.getParent());
        Files.writeString(path, text);
    }
}
