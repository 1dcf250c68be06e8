package io.rdmaraw.tools;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import io.rdmaraw.pcap.PcapFormat;
import io.rdmaraw.pcap.PcapWriter;
import io.rdmaraw.tools.pcap.PcapFrame;
import io.rdmaraw.tools.pcap.PcapReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Runs whole commands on separate loop devices. */
class CommandsTest {
    @Test
    void theDemoLosesNothing() throws Exception {
        ToolRun run = ToolRun.of("demo", "--device", "soft:loop:demo", "--seconds", "1", "--json");
        assertEquals(0, run.exitCode(), run.err());
        JsonNode json = run.json();
        assertEquals(0, json.get("lost").asLong());
        assertEquals(0, json.get("corrupt").asLong());
        assertTrue(json.get("frames").asLong() > 1000, run.out());
        assertTrue(json.get("mfps").asDouble() > 0);
        assertTrue(json.get("nsPerFrame").asDouble() > 0);
        assertTrue(json.has("bytesAllocatedPerFrame"));
    }

    @Test
    void theDemoPrintsATable() {
        ToolRun run = ToolRun.of("demo", "--device", "soft:loop:demo-table", "--seconds", "0.3", "--length", "1514");
        assertEquals(0, run.exitCode(), run.err());
        assertTrue(run.out().contains("frames verified"), run.out());
    }

    @Test
    void aDemoWithFramesThatAreTooLongFailsWithASentence() {
        ToolRun run = ToolRun.of("demo", "--device", "soft:loop:demo-long", "--seconds", "1", "--length", "9216");
        assertEquals(1, run.exitCode());
        assertTrue(run.err().contains("rdma-raw: ") && run.err().contains("9216"), run.err());
        assertFalse(run.err().contains("\tat "), run.err());
    }

    @Test
    void devinfoShowsTheLoopDevice() throws Exception {
        ToolRun text = ToolRun.of("devinfo");
        assertEquals(0, text.exitCode(), text.err());
        assertTrue(text.out().contains("hca_id: soft:loop"), text.out());
        assertTrue(text.out().lines().anyMatch(line -> line.matches(" *state: +PORT_ACTIVE \\(4\\)")), text.out());
        assertTrue(text.out().contains("MANAGED_FLOW_STEERING"), text.out());
        JsonNode device = ToolRun.of("devinfo", "-d", "soft:loop", "--json").json().get("devices").get(0);
        assertEquals("soft:loop", device.get("hca_id").asText());
        assertEquals("Ethernet", device.get("ports").get(0).get("link_layer").asText());
        assertTrue(device.get("max_qp").asInt() > 0);
        assertTrue(ToolRun.of("devinfo", "--list").out().lines().anyMatch("soft:loop"::equals));
    }

    @Test
    void theDoctorFindsTheLoopDeviceWell() throws Exception {
        ToolRun run = ToolRun.of("doctor", "-d", "soft:loop", "--json");
        assertEquals(0, run.exitCode(), run.out());
        JsonNode findings = run.json().get("devices").get(0).get("findings");
        assertTrue(findings.findValuesAsText("subject").contains("queue pair"), run.out());
        ToolRun missing = ToolRun.of("doctor", "-d", "soft:xdp:no-such-netdev");
        assertEquals(1, missing.exitCode());
        assertTrue(missing.out().contains("there is no network device 'no-such-netdev'"), missing.out());
    }

    /** Without a device the doctor leaves no device out silently: it checks it, or prints the command that does. */
    @Test
    void doctorWithoutADeviceNamesEveryDevice() throws Exception {
        ToolRun run = ToolRun.of("doctor");
        for (JsonNode name : ToolRun.of("devinfo", "--list", "--json").json().get("devices")) {
            assertTrue(run.out().lines().anyMatch(line -> line.equals(name.asText())
                    || line.startsWith("  ./rdma-raw doctor " + name.asText() + ' ')), name + ": " + run.out());
        }
        assertTrue(ToolRun.of("doctor", "--json").json().has("notChecked"));
        assertFalse(ToolRun.of("doctor", "-d", "soft:loop", "--json").json().has("notChecked"));
    }

    @Test
    void pktgenReceivesFramesOfPktgen(@TempDir Path directory) throws Exception {
        Path sent = directory.resolve("sent.pcap");
        try (PcapWriter writer = PcapWriter.create(sent, PcapFormat.LINKTYPE_ETHERNET)) {
            for (int i = 0; i < 3; i++) {
                byte[] frame = new byte[60 + i];
                frame[5] = 2;
                frame[0] = 2;
                frame[12] = (byte) 0x88;
                frame[13] = (byte) 0xb5;
                frame[14] = (byte) i;
                writer.write(i, frame, 0, frame.length);
            }
        }
        Path received = directory.resolve("received.pcap");
        CompletableFuture<ToolRun> rx = CompletableFuture.supplyAsync(() -> ToolRun.of("pktgen", "rx", "-d",
                "soft:loop:pktgen", "-M", "dst-mac 02:00:00:00:00:02 ether-type 0x88b5", "-n", "30", "-o",
                received.toString(), "--json"));
        // The receiver's rule may not exist yet, and earlier frames are dropped. Send until the receiver has its
        // frames.
        while (!rx.isDone()) {
            ToolRun tx = ToolRun.of("pktgen", "tx", "-d", "soft:loop:pktgen", "-f", sent.toString(), "-n", "30",
                    "--json");
            assertEquals(0, tx.exitCode(), tx.err());
            assertEquals(30, tx.json().get("frames").asLong());
            assertEquals(10 * (60 + 61 + 62), tx.json().get("bytes").asLong());
        }
        ToolRun run = rx.get(30, TimeUnit.SECONDS);
        assertEquals(0, run.exitCode(), run.err());
        assertEquals(30, run.json().get("frames").asLong());
        assertFollowsEachOther(received);
    }

    private static void assertFollowsEachOther(Path file) throws Exception {
        try (PcapReader reader = PcapReader.open(file)) {
            int expected = -1;
            int frames = 0;
            for (PcapFrame frame = reader.next(); frame != null; frame = reader.next()) {
                int number = frame.bytes()[14];
                assertTrue(expected < 0 || number == expected, "frame " + frames);
                assertEquals(60 + number, frame.bytes().length);
                expected = (number + 1) % 3;
                frames++;
            }
            assertEquals(30, frames);
        }
    }

    @Test
    void pktgenStopsAfterItsSecondsAndKeepsItsRate() throws Exception {
        ToolRun run = ToolRun.of("pktgen", "tx", "-d", "soft:loop:rate", "-D", "0.5", "--rate", "1000", "-T",
                "eth/ipv4/udp", "-s", "128", "--json");
        assertEquals(0, run.exitCode(), run.err());
        long frames = run.json().get("frames").asLong();
        // The rate permits at most this many frames in the measured time.
        double seconds = run.json().get("seconds").asDouble();
        assertTrue(frames > 1 && frames <= seconds * 1000 + 2, run.out());
        assertEquals(frames * 128, run.json().get("bytes").asLong());
    }

    @Test
    void everyFlowOfAProbedTransmissionIsMeasuredAtTheReceiver() throws Exception {
        CompletableFuture<ToolRun> rx = CompletableFuture.supplyAsync(() -> ToolRun.of("pktgen", "rx", "-d",
                "soft:loop:probe", "-M", "dst-mac 02:00:00:00:00:02 dst 10.0.0.9 udp dst-port 7", "-n", "400",
                "--probe",
                "--json"));
        while (!rx.isDone()) {
            ToolRun tx = ToolRun.of("pktgen", "tx", "-d", "soft:loop:probe", "-T",
                    "eth/ipv4(src=10.0.0.1..10.0.0.4,dst=10.0.0.9)/udp(src=1000..1009,dst=7)", "--imix", "--probe",
                    "--rate", "20k", "-n", "480", "--json");
            assertEquals(0, tx.exitCode(), tx.err());
        }
        ToolRun run = rx.get(30, TimeUnit.SECONDS);
        assertEquals(0, run.exitCode(), run.err());
        JsonNode probe = run.json().get("probe");
        assertEquals(40, probe.get("streams").asInt());
        // A transmission that began before the rule existed may be cut off. The next one starts the numbers of each
        // stream again.
        assertEquals(400, probe.get("frames").asLong() + probe.get("duplicates").asLong());
        assertEquals(0, probe.get("withoutProbe").asLong());
        assertTrue(probe.get("latencyMicros").get("min").asDouble() > 0);
        assertTrue(probe.get("latencyMicros").get("p99.9").asDouble() <= probe.get("latencyMicros")
                .get("max").asDouble());
    }

    @Test
    void pktgenStopsInTimeHoweverSlowItsRate() throws Exception {
        ToolRun run = ToolRun.of("pktgen", "tx", "-d", "soft:loop:slow", "-D", "0.2", "--rate", "0.001", "--json");
        assertEquals(0, run.exitCode(), run.err());
        assertTrue(run.json().get("seconds").asDouble() < 900, "it waited for its rate: " + run.out());
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "                                       | a command is missing",
        "nothing                                | there is no command 'nothing'; see ./rdma-raw --help",
        "bw soft:loop                           | bw takes options alone, and got 'soft:loop': a device is named by -d",
        "top 1 2                                | top got '2' beyond what it takes",
        "pktgen --device soft:loop              | pktgen has no option --device; these have: pktgen tx, pktgen rx",
        "pktgen --nosuch                        | pktgen has no option --nosuch; see ./rdma-raw pktgen --help",
        "demo --seconds 0                       | --seconds must be",
        "demo --length 59                       | --length must be",
        "demo --window 0                        | --window must be",
        "demo htpp                              | demo has no command 'htpp'; it has http, dns",
        "pktgen                                 | which one: tx or rx",
        "pktgen echo                            | pktgen has no command 'echo'; it has tx, rx",
        "pktgen --echo                          | pktgen has no option --echo",
        "pktgen rx                              | Missing required option",
        "pktgen rx -M all -n -1                 | --count must not be",
        "pktgen rx -M all -r 100                | --rx-depth must be a power of two",
        "pktgen tx --rate -1                    | is not a rate",
        "pktgen tx -T eth -f x                  | mutually exclusive",
        "pktgen tx -f x -s 100                  | go with --template",
        "pktgen tx --imix -s 100                | one of them",
        "pktgen tx --replay                     | --replay goes with",
        "pktgen tx -f x --replay --rate 5       | one of them",
        "pktgen tx --speed 2                    | --speed goes with",
        "pktgen tx --rate 5parsec               | is not a rate",
    })
    void wrongArgumentsAreRefusedBeforeAnythingIsTried(String arguments, String fault) {
        ToolRun run = ToolRun.of(arguments == null ? new String[0] : arguments.split(" "));
        assertEquals(2, run.exitCode(), run.err());
        assertTrue(run.err().startsWith("rdma-raw: ") && run.err().contains(fault), run.err());
        assertTrue(run.err().endsWith("--help\n"), "the options are one command away: " + run.err());
        assertEquals(1, run.err().lines().count(), run.err());
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "demo -d soft:nothing                   | nothing",
        "demo -d mlx5_99                        | mlx5_99",
        "devinfo -d mlx5_99                     | mlx5_99",
        "pktgen tx -T eth/sctp                  | there is no layer 'sctp'",
        "pktgen tx -T eth/ipv4 -s 20            | a frame of 20 bytes is not possible",
        "pktgen tx -f /no/such/file             | there is no file /no/such/file",
        "pktgen rx -M bogus                     | is not a flow rule",
    })
    void impossibleCommandIsReportedInASentence(String arguments, String part) {
        ToolRun run = ToolRun.of(arguments.split(" "));
        assertEquals(1, run.exitCode(), run.err());
        assertTrue(run.err().startsWith("rdma-raw: ") && run.err().contains(part), run.err());
        assertEquals(1, run.err().strip().lines().count(), run.err());
    }

    @Test
    void framesWithoutAReceiverAreReported() throws Exception {
        ToolRun tx = ToolRun.of("pktgen", "tx", "-d", "soft:loop:nobody", "-n", "10", "--json");
        assertEquals(0, tx.exitCode(), tx.err());
        assertTrue(tx.err().contains("no rule matched any frame"), tx.err());
        assertEquals(10, tx.json().get("dropped").asLong());
        ToolRun rx = ToolRun.of("pktgen", "rx", "-d", "soft:loop:nobody", "-M", "ether-type 0x88b5", "-D", "0.1");
        assertEquals(1, rx.exitCode(), rx.out());
        assertTrue(rx.err().contains("no frame matched \"ether-type 0x88b5\" on soft:loop:nobody, which is in memory"),
                rx.err());
    }

    /** A sender without a limit overruns a short receive queue. The device counts these frames, not the channel. */
    @Test
    void framesThatTheDeviceDropsAreCountedAsDropped() throws Exception {
        CompletableFuture<ToolRun> rx = CompletableFuture.supplyAsync(() -> ToolRun.of("pktgen", "rx", "-d",
                "soft:loop:overrun", "-M", "dst-mac 02:00:00:00:00:02 udp dst-port 7", "-r", "64", "-D", "2",
                "--json"));
        while (!rx.isDone()) {
            assertEquals(0, ToolRun.of("pktgen", "tx", "-d", "soft:loop:overrun", "-T",
                    "eth(dst=02:00:00:00:00:02)/ipv4/udp(dst=7)", "-n", "100000").exitCode());
        }
        ToolRun run = rx.get(30, TimeUnit.SECONDS);
        assertEquals(0, run.exitCode(), run.err());
        long counted = run.json().get("counts").get("received.noReceive").asLong();
        assertEquals(counted, run.json().get("dropped").asLong(), run.out());
        assertTrue(run.err().contains("use a larger --rx-depth than 64"), run.err());
    }

    /**
     * The demo on a loop device states that no frame was on a wire, so that its rate is not taken for that of an
     * interface.
     */
    @Test
    void theDemoSaysThatNoFrameWasOnAWire() {
        ToolRun run = ToolRun.of("demo", "--device", "soft:loop:demo-memory", "--seconds", "0.2");
        assertTrue(run.out().contains("none was on a wire"), run.out());
    }

    @ParameterizedTest
    @CsvSource({"--version", "bw --version"})
    void everyCommandPrintsTheVersions(String arguments) {
        ToolRun run = ToolRun.of(arguments.split(" "));
        assertEquals(0, run.exitCode(), run.err());
        assertTrue(run.out().startsWith("rdma-raw ") && run.out().contains("Netty 4.2"), run.out());
        assertTrue(run.out().contains("Java " + Runtime.version()), run.out());
    }

    @Test
    void filesThatAreNotPcapAreRefused(@TempDir Path directory) throws Exception {
        Path file = Files.writeString(directory.resolve("text.pcap"), "this is not a capture");
        ToolRun run = ToolRun.of("pktgen", "tx", "-f", file.toString());
        assertEquals(1, run.exitCode());
        assertTrue(run.err().contains("is not a pcap file"), run.err());
    }
}
