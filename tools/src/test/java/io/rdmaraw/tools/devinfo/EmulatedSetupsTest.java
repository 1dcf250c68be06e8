package io.rdmaraw.tools.devinfo;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The network interface of a port is found on hosts where guesses from sysfs fail. The emulated kernel answers RDMA
 * netlink requests like nldev.c and provides the same files as mlx5. The setups are defined in {@code
 * connectx-emulator/setup.c}.
 */
@Timeout(120)
@Tag("slow")
class EmulatedSetupsTest {
    private static final Path NATIVE = Path.of("..", "transport-rdma-raw-native").toAbsolutePath().normalize();
    private static final Path EMULATOR = NATIVE.resolve("target/native/emulator/libconnectx-emulator.so");

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "                          | mlx5_0    | emulated0 | 1500",
        "                          | emulated0 | emulated0 | 1500",
        "roce-off                  | mlx5_0    | emulated0 | 1500",
        "roce-off+no-netlink       | mlx5_0    | emulated0 | 1500",
        "dual-port+roce-off        | mlx5_0    | emulated0 | 1500",
        "dual-port+roce-off+no-netlink | mlx5_0 | emulated0 | 1500",
        "bond                      | mlx5_0    | bond0     | 9000",
        "bond                      | bond0     | bond0     | 9000",
        "bond+roce-off             | mlx5_0    | bond0     | 9000",
        // In a container without the interface: the active MTU, rounded down.
        "other-namespace           | mlx5_0    | none in this network namespace | 1024",
    })
    void thePortsInterfaceIsFound(String setup, String device, String netdev, int mtuBytes) throws Exception {
        JsonNode port = devinfo(setup, device);
        assertEquals(netdev, port.get("netdev").asText());
        assertEquals(mtuBytes, port.get("netdev_mtu").asInt());
    }

    /**
     * In switchdev mode the port of the wire is the last one. The first one has no representor, or on a DPU that of the
     * host's function.
     */
    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "switchdev            | none in this network namespace | emu0pf0vf0",
        "bluefield            | emu0pf0hpf                     | emu0pf0vf0",
        // sysfs does not show which representor belongs to a port.
        "switchdev+no-netlink | none in this network namespace | none in this network namespace",
    })
    void portsOfAnESwitchHaveTheirInterfaces(String setup, String first, String second) throws Exception {
        for (String device : List.of("mlx5_0", "emulated0")) {
            JsonNode ports = ports(setup, device);
            assertEquals(List.of(first, second, "emulated0"), ports.findValuesAsText("netdev"));
        }
    }

    /** Raw channels and {@code doctor} use the port of the wire. */
    @ParameterizedTest
    @CsvSource({"switchdev, mlx5_0", "switchdev, emulated0", "bluefield, mlx5_0", "switchdev+no-netlink, mlx5_0"})
    void framesPassThroughTheUplink(String setup, String device) throws Exception {
        String result = run(setup, 0, java("demo", "--device", device, "--echo-device", "mlx5_1", "--seconds", "1",
                "--window", "16", "--json"), "--wire", "cable", "--wire", "cable");
        JsonNode counts = new ObjectMapper().readTree(result.substring(result.indexOf('{')));
        assertTrue(counts.get("frames").asLong() > 0, result);
        assertEquals(0, counts.get("lost").asLong(), result);
        String report = run(setup, 0, java("doctor", "--device", device));
        assertTrue(report.contains("port 3") && !report.contains("port 1"), report);
        assertTrue(report.contains("flow rules with tags can be made"), report);
        assertTrue(report.contains("lost frames"), report);
    }

    /** Older cards have at least 512 strides per request. */
    @Test
    void stridingQueuesFitTheLimitsOfOlderCards() throws Exception {
        List<String> demo = java("demo", "--device", "mlx5_0", "--echo-device", "mlx5_1", "--seconds", "1", "--window",
                "16", "--json");
        demo.addAll(1, List.of("-Dio.rdmaraw.stridingReceive=required"));
        String result = run("connectx-4-lx", 0, demo, "--wire", "cable", "--wire", "cable");
        assertTrue(result.contains("\"queues\":\"rings, striding receive\""), result);
    }

    /** perftest's counterparts use the port of the wire, unless they name another. */
    @Test
    void ratesAreMeasuredOnTheUplink() throws Exception {
        List<String> bw = java("bw", "--device", "mlx5_0", "--server-device", "mlx5_1", "-D", "1", "--json");
        String result = run("switchdev", 0, bw, "--wire", "cable", "--wire", "cable");
        assertTrue(result.contains("{"), result);
        bw.addAll(List.of("--ib-port", "1"));
        assertTrue(run("switchdev", 1, bw, "--wire", "cable", "--wire", "cable").contains("on port 1"));
    }

    @Test
    void aSettingHasTheMtuOfAnInterfaceThatCannotBeSeen() throws Exception {
        JsonNode port = devinfo("other-namespace", "mlx5_0", "-Dio.rdmaraw.mtuBytes=1500");
        assertEquals(1500, port.get("netdev_mtu").asInt());
    }

    /** An unsuitable device is rejected when it is opened, rather than discovered later because no frame arrives. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "no-tags        | ibv_create_flow: EINVAL   | mlx4 has neither tags nor IPv6",
        "no-raw-packets | ibv_create_qp: EOPNOTSUPP | cannot carry this transport",
    })
    void aDeviceThatCannotCarryTheTransportIsRefused(String setup, String call, String reason) throws Exception {
        for (String tool : List.of("demo", "doctor")) {
            String refusal = run(setup, 1, java(tool, "--device", "mlx5_0"));
            assertTrue(refusal.contains(call), refusal);
            assertTrue(refusal.contains(reason), refusal);
            assertTrue(refusal.contains("soft:xdp:emulated0"), refusal);
        }
    }

    /** Without RoCE LAG, frames that arrive at the other port of the bond would be lost. */
    @Test
    void bondOfSeveralDevicesIsRefused() throws Exception {
        String[] wires = {"--wire", "cable", "--wire", "cable"};
        String reason = "bond0 consists of several RDMA devices (mlx5_0, mlx5_1)";
        String refusal = run("split-bond", 1, java("doctor", "--device", "bond0"), wires);
        assertTrue(refusal.contains("FAIL  bond            " + reason), refusal);
        // Raw channels on one port of the bond are possible.
        String warning = run("split-bond", 0, java("doctor", "--device", "mlx5_0"), wires);
        assertTrue(warning.contains("WARN  bond            " + reason), warning);
        run("split-bond", 0, java("demo", "--device", "mlx5_0", "--echo-device", "mlx5_1", "--seconds", "1"), wires);
    }

    /**
     * The demo's addresses belong to no port. A rule that names one adds it to the interface's list, so a function
     * behind an e-switch receives its frames.
     */
    @ParameterizedTest
    @ValueSource(strings = {"vf", "sriov"})
    void functionReceivesFramesOfItsRules(String setup) throws Exception {
        String result = run(setup, 0, java("demo", "--device", "mlx5_0", "--echo-device", "mlx5_1", "--seconds", "1",
                "--window", "16", "--json"), "--wire", "cable", "--wire", "cable");
        assertTrue(result.contains("\"lost\" : 0") || result.contains("\"lost\":0"), result);
    }

    /** No frame arrives for an unlisted address, so a warning names it, also for a physical function. */
    @ParameterizedTest
    @ValueSource(strings = {"vf", "sriov"})
    void addressThatCannotBeListedIsReported(String setup) throws Exception {
        assumeTrue("root".equals(System.getProperty("user.name")), "only root can take a capability from a program");
        List<String> command = new ArrayList<>(List.of("setpriv", "--bounding-set=-net_raw", "--inh-caps=-net_raw"));
        command.addAll(java("demo", "--device", "mlx5_0", "--echo-device", "mlx5_1", "--seconds", "1"));
        String output = run(setup, 1, command, "--wire", "cable", "--wire", "cable");
        assertTrue(output.contains("may not arrive, because emulated0 cannot list them"), output);
        assertTrue(output.contains("CAP_NET_RAW"), output);
    }

    /** The same for an interface in another network namespace. Without virtual functions frames arrive. */
    @Test
    void interfaceThatCannotBeSeenIsReported() throws Exception {
        String output = run("other-namespace", 0, java("demo", "--device", "mlx5_0", "--echo-device", "mlx5_1",
                "--seconds", "1"), "--wire", "cable", "--wire", "cable");
        assertTrue(output.contains("cannot list them: it is not in this network namespace"), output);
    }

    /** Without CAP_IPC_LOCK, as in a container, the error names the limit to raise and its current value. */
    @Test
    void theLimitOfLockedMemoryIsNamed() throws Exception {
        assumeTrue("root".equals(System.getProperty("user.name")), "only root can take a capability from a program");
        List<String> command = new ArrayList<>(List.of("prlimit", "--memlock=1048576", "setpriv",
                "--bounding-set=-ipc_lock", "--inh-caps=-ipc_lock"));
        command.addAll(java("demo", "--device", "mlx5_0", "--seconds", "1"));
        String refusal = run(null, 1, command);
        assertTrue(refusal.contains("ibv_reg_mr"), refusal);
        assertTrue(refusal.contains("memlock limit, now 1048576 bytes"), refusal);
    }

    /** The {@code rdma} tool of iproute2 reads the emulated kernel's answers, so their format is the kernel's. */
    @Test
    void theToolOfIproute2ShowsTheSame() throws Exception {
        Path tool = List.of(Path.of("/usr/bin/rdma"), Path.of("/usr/sbin/rdma"), Path.of("/sbin/rdma")).stream()
                .filter(Files::exists).findFirst().orElse(null);
        assumeTrue(tool != null, "needs rdma: apt-get install iproute2");
        String links = run("switchdev", 0, List.of(tool.toString(), "link", "show"));
        assertTrue(links.contains("link mlx5_0/1 state DOWN physical_state DISABLED"), links);
        assertTrue(links.contains("link mlx5_0/3 state ACTIVE physical_state LINK_UP netdev emulated0"), links);
        String elsewhere = run("other-namespace", 0, List.of(tool.toString(), "link", "show"));
        assertTrue(elsewhere.contains("mlx5_0/1") && !elsewhere.contains("netdev"), elsewhere);
    }

    private static JsonNode devinfo(String setup, String device, String... properties) throws Exception {
        return ports(setup, device, properties).get(0);
    }

    private static JsonNode ports(String setup, String device, String... properties) throws Exception {
        List<String> command = java("devinfo", "--device", device, "--json");
        command.addAll(1, List.of(properties));
        String output = run(setup, 0, command);
        return new ObjectMapper().readTree(output.substring(output.indexOf('{'))).get("devices").get(0).get("ports");
    }

    private static List<String> java(String... arguments) {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin/java").toString(), "--enable-native-access=ALL-UNNAMED",
                "-cp", System.getProperty("java.class.path"), "io.rdmaraw.tools.Main"));
        command.addAll(List.of(arguments));
        return command;
    }

    private static String run(String setupOrNull, int exitStatus, List<String> program, String... wires)
            throws Exception {
        assumeTrue(Files.exists(EMULATOR), "the emulator is not built in " + EMULATOR);
        List<String> command = new ArrayList<>(List.of(NATIVE.resolve("connectx-emulator/emulate.sh").toString(),
                "--library", EMULATOR.toString()));
        if (setupOrNull != null) {
            command.addAll(List.of("--setup", setupOrNull));
        }
        command.addAll(List.of(wires));
        command.add("--");
        command.addAll(program);
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertEquals(exitStatus, process.waitFor(), output);
        return output;
    }
}
