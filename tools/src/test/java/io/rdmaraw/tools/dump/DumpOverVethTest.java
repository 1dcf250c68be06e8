package io.rdmaraw.tools.dump;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.rdmaraw.testsuite.net.PeerProcess;
import io.rdmaraw.tools.pcap.PcapFrame;
import io.rdmaraw.tools.pcap.PcapReader;
import io.rdmaraw.tools.run.JavaCommand;
import io.rdmaraw.tools.server.ServerNetwork;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Compares the capture of a server with tcpdump's at the client. */
@Tag("root")
@Timeout(180)
class DumpOverVethTest {
    private static final Duration LIMIT = Duration.ofSeconds(60);
    private static final int IPV4_CHECKSUM = 24;
    private static final int TCP_CHECKSUM = 50;
    private static final int REQUESTS = 40;

    /**
     * Returns the frames from the server's port, or with 0 those to it. Checksums are cleared, because the device or
     * the kernel may compute them later.
     */
    private static List<byte[]> frames(Path file, int sourceOrZero) throws IOException {
        List<byte[]> frames = new ArrayList<>();
        try (PcapReader reader = PcapReader.open(file)) {
            for (PcapFrame frame = reader.next(); frame != null; frame = reader.next()) {
                byte[] bytes = frame.bytes();
                if (sourcePort(bytes) == sourceOrZero || sourceOrZero == 0 && sourcePort(bytes) != 8080) {
                    Arrays.fill(bytes, IPV4_CHECKSUM, IPV4_CHECKSUM + 2, (byte) 0);
                    Arrays.fill(bytes, TCP_CHECKSUM, TCP_CHECKSUM + 2, (byte) 0);
                    frames.add(bytes);
                }
            }
        }
        return frames;
    }

    private static int sourcePort(byte[] frame) {
        return (frame[34] & 0xff) << 8 | frame[35] & 0xff;
    }

    @ParameterizedTest
    @ValueSource(strings = {"soft:packet:", "soft:xdp:"})
    void framesAreThoseThatThePeerSees(String kind, @TempDir Path directory) throws Exception {
        assumeTrue("root".equals(System.getProperty("user.name")), "needs root");
        ServerNetwork.require("tcpdump", "tcpdump");
        Path atPeer = directory.resolve("peer.pcap");
        Path atServer = directory.resolve("server.pcapng");
        try (ServerNetwork network = new ServerNetwork();
                PeerProcess server = network.start(List.of(), "http", "--device", kind + network.serverInterface(),
                        "--port", "8080", "--threads", "2");
                PeerProcess tcpdump = network.clientSide().start("tcpdump", "-i", network.clientInterface(), "-n", "-U",
                        "-Z", "root", "--immediate-mode", "-w", atPeer.toString(), "tcp port 8080")) {
            tcpdump.awaitOutput("listening on", LIMIT);
            List<String> command = new ArrayList<>(JavaCommand.of("io.rdmaraw.tools.Main"));
            command.addAll(List.of("dump", "--pid", Long.toString(server.pid()), "-w", atServer.toString(),
                    "tcp port 8080"));
            try (PeerProcess dump = network.serverSide().start(command.toArray(String[]::new))) {
                dump.awaitOutput("capturing frames", LIMIT);
                String url = "http://" + network.serverAddress() + ":8080/plaintext";
                List<String> curl = new ArrayList<>(List.of("curl", "-s"));
                for (int i = 0; i < REQUESTS; i++) {
                    curl.add(url);
                }
                network.runClient(curl.toArray(String[]::new));
                network.runClient("curl", "-s", "-o", "/dev/null", url.replace("plaintext", "bytes/200000"));
                awaitEqualCounts(directory, atServer, atPeer);
            }
            for (int port : new int[] {8080, 0}) {
                List<byte[]> expected = frames(atPeer, port);
                List<byte[]> captured = frames(converted(directory, atServer), port);
                assertTrue(expected.size() > REQUESTS, expected.size() + " frames");
                for (int i = 0; i < expected.size(); i++) {
                    assertArrayEquals(expected.get(i), captured.get(i), "frame " + i + " from port " + port);
                }
                assertEquals(expected.size(), captured.size());
            }
        }
    }

    /** Waits until both captures have the last frames, which may still be on their way to the files. */
    private static void awaitEqualCounts(Path directory, Path atServer, Path atPeer) throws Exception {
        int server;
        int peer;
        do {
            // The timeout of the class limits the loop.
            peer = frames(atPeer, 8080).size() + frames(atPeer, 0).size();
            Path converted = converted(directory, atServer);
            server = frames(converted, 8080).size() + frames(converted, 0).size();
        } while (server != peer);
    }

    /** Has tcpdump convert the pcapng file to pcap. */
    private static Path converted(Path directory, Path pcapng) throws Exception {
        Path pcap = directory.resolve("converted.pcap");
        Programs.lines("tcpdump", "-n", "-r", pcapng.toString(), "-w", pcap.toString());
        return pcap;
    }
}
