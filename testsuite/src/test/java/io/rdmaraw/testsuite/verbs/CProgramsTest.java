package io.rdmaraw.testsuite.verbs;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.rdmaraw.testsuite.net.Await;
import io.rdmaraw.testsuite.net.NetworkNamespace;
import io.rdmaraw.testsuite.net.PeerProcess;
import io.rdmaraw.testsuite.net.TestNetwork;
import io.rdmaraw.testsuite.net.VethEnd;
import io.rdmaraw.testsuite.net.VethPair;
import io.rdmaraw.testsuite.net.WithTestNetwork;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.PortUnreachableException;
import java.net.SocketTimeoutException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Programs linked against the distribution's libibverbs run on softverbs, selected by LD_LIBRARY_PATH, over a veth
 * pair.
 */
@WithTestNetwork
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class CProgramsTest {
    private static final Path NATIVE = Path.of("../transport-rdma-raw-native/target/native").toAbsolutePath()
            .normalize();
    private static final int FRAMES = 20_000;
    private static final String PORT = "7777";

    @BeforeAll
    static void theProgramsAreBuilt() {
        assumeTrue(Files.isExecutable(NATIVE.resolve("pktgen")), "the native module has not been built here");
    }

    private static String[] onSoftverbs(VethEnd end, String kind, String... command) {
        List<String> whole = new ArrayList<>(List.of("env", "LD_LIBRARY_PATH=" + NATIVE.resolve("lib"),
                "SOFTVERBS_DEVICES=" + kind + ':' + end.name()));
        whole.addAll(Arrays.asList(command));
        return whole.toArray(String[]::new);
    }

    @ParameterizedTest
    @ValueSource(strings = {"xdp", "packet"})
    void ibvDevicesAndDevinfoShowTheInterface(String kind, TestNetwork network) {
        VethPair pair = network.withoutCapture().vethPair(network.namespace(), network.namespace());
        VethEnd end = pair.ours();
        String device = kind + ':' + end.name();
        String list = end.namespace().run(onSoftverbs(end, kind, "ibv_devices")).output();
        assertTrue(list.contains(device), list);
        String info = end.namespace().run(onSoftverbs(end, kind, "ibv_devinfo", "-v", "-d", device)).output();
        assertTrue(info.contains(device) && info.contains("PORT_ACTIVE"), info);
        assertTrue(info.contains("link_layer:") && info.contains("Ethernet"), info);
    }

    @ParameterizedTest
    @ValueSource(strings = {"xdp", "packet"})
    void pktgenSendsFramesToPktgen(String kind, TestNetwork network) {
        VethPair pair = network.withoutCapture().vethPair(network.namespace(), network.namespace());
        NetworkNamespace near = pair.ours().namespace();
        String program = NATIVE.resolve("pktgen").toString();
        try (PeerProcess receiver = near.start(onSoftverbs(pair.ours(), kind, program, "rx", "--device",
                kind + ':' + pair.ours().name(), "--to", pair.ours().ipv4(), "--port", PORT, "--count", "1000"))) {
            receiver.awaitOutput("ready", Await.PATIENCE);
            String sent = pair.peer().namespace().run(onSoftverbs(pair.peer(), kind, program, "tx", "--device",
                    kind + ':' + pair.peer().name(), "--to-mac", pair.ours().mac(), "--from-mac", pair.peer().mac(),
                    "--to", pair.ours().ipv4(), "--from", pair.peer().ipv4(), "--port", PORT, "--count",
                    Integer.toString(FRAMES))).output();
            assertTrue(sent.contains("\"frames\": " + FRAMES), sent);
            String received = receiver.await(Await.PATIENCE).orThrow().output();
            assertTrue(received.contains("\"mode\": \"rx\"") && received.contains("\"frames\": 1"), received);
        }
    }

    /**
     * The peer's kernel sends from many sockets, so that its hash distributes the datagrams over the receive queues.
     */
    @ParameterizedTest
    @ValueSource(strings = {"generic", "native", "tap"})
    void everyReceiveQueueIsServed(String mode, TestNetwork network) throws Exception {
        VethPair pair = network.withoutCapture().vethPair(network.namespace(), network.namespace());
        VethEnd end = pair.ours();
        for (VethEnd each : List.of(end, pair.peer())) {
            assumeTrue(each.namespace().attempt("ethtool", "-L", each.name(), "rx", "2", "tx", "2").exitCode() == 0,
                    "veth has one queue on a host with one core");
        }
        int sockets = 32;
        int datagramsEach = 50;
        try (PeerProcess receiver = end.namespace().start(onSoftverbs(end, "xdp", "env", "SOFTVERBS_XDP_MODE=" + mode,
                NATIVE.resolve("pktgen").toString(), "rx", "--device", "xdp:" + end.name(), "--to", end.ipv4(),
                "--port", PORT, "--count", Integer.toString(sockets * datagramsEach)))) {
            receiver.awaitOutput("ready", Await.PATIENCE);
            // The ping resolves our MAC address. The kernel keeps only few datagrams until then.
            pair.peer().namespace().run("ping", "-q", "-c", "1", end.ipv4());
            pair.peer().namespace().call(() -> {
                for (int i = 0; i < sockets; i++) {
                    sendDatagrams(end, datagramsEach);
                }
                return null;
            });
            String received = receiver.await(Await.PATIENCE).orThrow().output();
            assertTrue(received.contains("\"frames\": " + sockets * datagramsEach), received);
        }
        if (mode.equals("native")) {
            String statistics = end.namespace().run("ethtool", "-S", end.name()).output();
            for (int queue = 0; queue < 2; queue++) {
                assertTrue(statistics.matches("(?s).*rx_queue_" + queue + "_xdp_packets: [1-9].*"), statistics);
            }
        }
    }

    private static void sendDatagrams(VethEnd to, int count) throws Exception {
        try (DatagramSocket socket = new DatagramSocket()) {
            for (int i = 0; i < count; i++) {
                socket.send(new DatagramPacket(new byte[18], 18, InetAddress.getByName(to.ipv4()),
                        Integer.parseInt(PORT)));
            }
        }
    }

    /**
     * Where TCX is missing (before Linux 6.6) or the process may not load eBPF programs, bound sockets reserve the port
     * and suppress the kernel's ICMP errors.
     */
    @Test
    void portReservationsKeepTheKernelQuietWhileARuleLasts(TestNetwork network) throws Exception {
        VethPair pair = network.withoutCapture().vethPair(network.namespace(), network.namespace());
        VethEnd end = pair.ours();
        awaitAnswer(pair);
        try (PeerProcess receiver = end.namespace().start(onSoftverbs(end, "packet", "env",
                "SOFTVERBS_PACKET_QUIET=sockets", NATIVE.resolve("pktgen").toString(), "rx", "--device",
                "packet:" + end.name(), "--to", end.ipv4(), "--port", PORT, "--count", "2"))) {
            receiver.awaitOutput("ready", Await.PATIENCE);
            assertFalse(kernelAnswers(pair));
            // The receiver ends after the second datagram. Its port reservation may end before the kernel processes
            // that datagram, so this reply is not checked.
            kernelAnswers(pair);
            String received = receiver.await(Await.PATIENCE).orThrow().output();
            assertTrue(received.contains("\"frames\": 2"), received);
        }
        awaitAnswer(pair);
    }

    @Test
    void anInterfaceOfOurOwnGoesWithAKilledProcess(TestNetwork network) throws Exception {
        VethPair pair = network.withoutCapture().vethPair(network.namespace(), network.namespace());
        VethEnd end = pair.ours();
        try (PeerProcess receiver = end.namespace().start(onSoftverbs(end, "xdp", "env", "SOFTVERBS_XDP_MODE=tap",
                NATIVE.resolve("pktgen").toString(), "rx", "--device", "xdp:" + end.name(), "--to", end.ipv4(),
                "--port", PORT, "--count", "1000"))) {
            receiver.awaitOutput("ready", Await.PATIENCE);
            String links = end.namespace().run("ip", "-oneline", "link").output();
            assertTrue(links.contains("rdmaraw0:"), links);
            String addresses = end.namespace().run("ip", "-oneline", "address", "show", "rdmaraw0").output();
            assertTrue(addresses.isBlank(), addresses);
            assertFalse(kernelAnswers(pair));
            ProcessHandle.of(receiver.pid()).orElseThrow().destroyForcibly();
            receiver.await(Await.PATIENCE);
        }
        Await.until("the interface to be gone",
                () -> !end.namespace().run("ip", "-oneline", "link").output().contains("rdmaraw0:"));
        awaitAnswer(pair);
    }

    /** Waits until no rule and no reservation keeps the kernel from replying. */
    private static void awaitAnswer(VethPair pair) {
        Await.until("the kernel to answer", () -> kernelAnswers(pair));
    }

    /**
     * Returns whether the kernel replies to a datagram to our port with an ICMP error because no socket is bound to it.
     */
    private static boolean kernelAnswers(VethPair pair) {
        try (DatagramSocket socket = pair.peer().namespace().call(() -> new DatagramSocket())) {
            socket.connect(InetAddress.getByName(pair.ours().ipv4()), Integer.parseInt(PORT));
            socket.setSoTimeout(1000);
            socket.send(new DatagramPacket(new byte[10], 10));
            socket.receive(new DatagramPacket(new byte[10], 10));
            return false;
        } catch (PortUnreachableException answered) {
            return true;
        } catch (SocketTimeoutException silent) {
            return false;
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }
}
