package io.rdmaraw.tools.pktgen;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.rdmaraw.testsuite.net.Await;
import io.rdmaraw.testsuite.net.CommandResult;
import io.rdmaraw.testsuite.net.NetworkNamespace;
import io.rdmaraw.testsuite.net.PeerProcess;
import io.rdmaraw.testsuite.net.TestNetwork;
import io.rdmaraw.testsuite.net.WithTestNetwork;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Exchanges frames between pktgen and perftest's {@code raw_ethernet_bw}, which uses rdma-core. Each runs on its own
 * emulated ConnectX; a kernel bridge connects their TAP devices. No frame may be lost, because the receiver has posted
 * a receive for every frame.
 */
@WithTestNetwork
@Timeout(180)
class PerftestOverTapTest {
    private static final Path NATIVE = Path.of("..", "transport-rdma-raw-native").toAbsolutePath().normalize();
    private static final Path EMULATOR = NATIVE.resolve("target/native/emulator/libconnectx-emulator.so");
    private static final String PKTGEN_MAC = "02:c5:00:00:00:99";
    private static final String PERFTEST_MAC = "02:c5:00:00:00:01";
    private static final int FRAMES = 1000;
    /** Frame length including the FCS, as perftest counts it. */
    private static final int WIRE_BYTES = 64;
    private static final int FRAME_BYTES = WIRE_BYTES - 4;

    private NetworkNamespace namespace;

    @BeforeEach
    void connect(TestNetwork network) {
        assumeTrue(Files.exists(EMULATOR), "the emulator is not built in " + EMULATOR);
        assumeTrue(Files.exists(Path.of("/usr/bin/raw_ethernet_bw")),
                "needs raw_ethernet_bw: apt-get install perftest");
        assumeTrue(Files.exists(Path.of("/dev/net/tun")), "needs /dev/net/tun");
        namespace = network.namespace();
        // With a forward delay, a bridge forwards nothing in the first seconds of a link.
        namespace.run("ip", "link", "add", "bridge0", "type", "bridge", "forward_delay", "0", "mcast_snooping", "0");
        for (String tap : List.of("tap0", "tap1")) {
            namespace.run("ip", "tuntap", "add", "mode", "tap", "name", tap);
            namespace.run("ip", "link", "set", tap, "txqueuelen", "4096", "master", "bridge0", "up");
        }
        namespace.run("ip", "link", "set", "bridge0", "up");
    }

    private PeerProcess onDevice(String tap, List<String> program) {
        List<String> command = new ArrayList<>(List.of(NATIVE.resolve("connectx-emulator/emulate.sh").toString(),
                "--library", EMULATOR.toString(), "--wire", "tap:" + tap, "--"));
        command.addAll(program);
        return namespace.start(command.toArray(String[]::new));
    }

    private PeerProcess pktgen(String... arguments) {
        List<String> program = new ArrayList<>(List.of(Path.of(System.getProperty("java.home"), "bin/java").toString(),
                "--enable-native-access=ALL-UNNAMED", "-cp", System.getProperty("java.class.path"),
                "io.rdmaraw.tools.Main", "pktgen"));
        program.addAll(List.of(arguments));
        return onDevice("tap1", program);
    }

    private PeerProcess perftest(String... arguments) {
        List<String> program = new ArrayList<>(List.of("stdbuf", "-oL", "raw_ethernet_bw", "-d", "mlx5_0", "-E",
                PKTGEN_MAC, "-B", PERFTEST_MAC, "-n", Integer.toString(FRAMES), "-s", Integer.toString(WIRE_BYTES),
                "-F"));
        program.addAll(List.of(arguments));
        return onDevice("tap0", program);
    }

    @Test
    void pktgenReceivesFramesOfPerftest() throws Exception {
        PeerProcess receiver = pktgen("rx", "-d", "mlx5_0", "-M", "dst-mac " + PKTGEN_MAC + " allow-host-traffic", "-n",
                Integer.toString(FRAMES), "-D", "60", "--json");
        // The receiver prints its counters every second. The first line shows that it is ready.
        receiver.awaitOutput(" rx ", Await.PATIENCE);
        assertIterations(perftest("--client").await(Await.PATIENCE));
        JsonNode result = resultOf(receiver);
        assertEquals(FRAMES, result.get("frames").asInt(), result.toString());
        assertEquals(FRAMES * FRAME_BYTES, result.get("bytes").asInt(), result.toString());
    }

    @Test
    void perftestReceivesFramesOfPktgen() throws Exception {
        PeerProcess receiver = perftest("--server", "-r", "2048");
        receiver.awaitOutput("MsgRate", Await.PATIENCE);
        PeerProcess sender = pktgen("tx", "-d", "mlx5_0", "-T", "eth(dst=" + PERFTEST_MAC + ",src=" + PKTGEN_MAC
                + ",type=0x88b5)", "-s", Integer.toString(FRAME_BYTES), "-n", Integer.toString(FRAMES), "--json");
        assertEquals(FRAMES, resultOf(sender).get("frames").asInt());
        assertIterations(receiver.await(Await.PATIENCE));
    }

    /** Checks the result line of size, number and rates, which perftest prints after it has received all frames. */
    private static void assertIterations(CommandResult perftest) {
        String output = perftest.orThrow().output();
        assertTrue(output.lines().anyMatch(line -> line.strip().matches(WIRE_BYTES + "\\s+" + FRAMES + "\\s.*")),
                output);
    }

    private static JsonNode resultOf(PeerProcess process) throws Exception {
        String output = process.await(Await.PATIENCE).orThrow().output();
        String last = output.strip().lines().filter(line -> line.startsWith("{")).reduce((a, b) -> b)
                .orElseThrow(() -> new AssertionError(output));
        return new ObjectMapper().readTree(last);
    }
}
