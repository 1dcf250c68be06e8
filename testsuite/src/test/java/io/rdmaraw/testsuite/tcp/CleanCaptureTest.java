package io.rdmaraw.testsuite.tcp;

import io.rdmaraw.testsuite.leak.LeakExtension;
import io.rdmaraw.testsuite.net.Await;
import io.rdmaraw.testsuite.net.CommandResult;
import io.rdmaraw.testsuite.net.Offloads;
import io.rdmaraw.testsuite.net.PacketCapture;
import io.rdmaraw.testsuite.net.TestNetwork;
import io.rdmaraw.testsuite.net.WithTestNetwork;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

import java.net.Socket;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicReference;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

/** Checks with Wireshark's dissectors the segments sent over a link without loss. */
@Timeout(120)
@WithTestNetwork
@ExtendWith(LeakExtension.class)
class CleanCaptureTest {
    private static final int CONNECTIONS = 10;
    /** After this time without data, a tail loss probe or a timeout may retransmit. */
    private static final double EXPLAINED_SECONDS = 0.002;

    @Test
    void wiresharkReportsNoErrors(TestNetwork network) throws Exception {
        // Disables offloads, because missing checksums and packets beyond the MTU would be reported as errors.
        network.withoutCapture().offloads(Offloads.OFF);
        try (EchoFixture fixture = new EchoFixture(network, "xdp")) {
            PacketCapture capture = network.capture(fixture.pair().peer());
            for (int i = 0; i < CONNECTIONS; i++) {
                try (Socket socket = fixture.connect()) {
                    for (int bytes : new int[] {1, 100, 1_448, 1_449, 20_000, 200_000}) {
                        EchoFixture.exchange(socket, bytes, i);
                    }
                    socket.shutdownOutput();
                    assertEquals(-1, socket.getInputStream().read(), "the server ends too");
                }
            }
            Await.until("the last connection to be captured",
                    () -> tshark(fixture, capture, "tcp.flags.fin == 1", "frame.number").size() >= 2 * CONNECTIONS);
            String ours = "ip.src == " + fixture.pair().ours().ipv4();
            assertTrue(tshark(fixture, capture, ours, "frame.number").size() > 1_000, "our segments were captured");
            assertTrue(fixture.queue("segmented.frames") > 0, "the device has cut segments");
            // Checks only this transport's frames: for all protocols, skb_checksum_help() of the kernel may write
            // 0xffff instead of 0.
            assertEquals(List.of(), tshark(fixture, capture, ours + " && (_ws.malformed || tcp.checksum.status == 0"
                    + " || ip.checksum.status == 0 || _ws.expert.severity >= 8388608)", "_ws.expert.message"));
            // No frame to the kernel may be lost or out of order, and the kernel must not see a hole.
            assertEquals(List.of(), tshark(fixture, capture, "tcp.analysis.lost_segment || tcp.analysis.out_of_order"
                    + " || tcp.analysis.fast_retransmission || tcp.analysis.ack_lost_segment", "_ws.expert.message"));
            assertEquals(List.of(), hastyRetransmissions(fixture, capture));
        }
    }

    /** Returns the retransmissions that were sent so early that the kernel's ACK may still have been on its way. */
    private static List<String> hastyRetransmissions(EchoFixture fixture, PacketCapture capture) {
        List<String> hasty = new ArrayList<>();
        Map<String, Double> lastData = new HashMap<>();
        Set<String> explained = new HashSet<>();
        String ours = "tcp.len > 0 && ip.src == " + fixture.pair().ours().ipv4();
        for (String line : tshark(fixture, capture, ours, "tcp.stream", "frame.time_relative",
                "tcp.analysis.retransmission", "tcp.analysis.spurious_retransmission")) {
            String[] fields = line.split("\t", -1);
            String stream = fields[0];
            double seconds = Double.parseDouble(fields[1]);
            double sinceSeconds = seconds - lastData.getOrDefault(stream, seconds);
            lastData.put(stream, seconds);
            // A timeout may retransmit several segments. The wait before the first one explains all of them.
            if ((fields[2] + fields[3]).isEmpty()) {
                explained.remove(stream);
            } else if (sinceSeconds > EXPLAINED_SECONDS) {
                explained.add(stream);
            } else if (!explained.contains(stream)) {
                hasty.add("sent again after %.6f s: stream %s, at %.6f s".formatted(sinceSeconds, stream, seconds));
            }
        }
        return hasty;
    }

    /** Returns the fields of all frames that match a display filter: one line per frame, separated by tabs. */
    private static List<String> tshark(EchoFixture fixture, PacketCapture capture, String filter, String... fields) {
        List<String> command = new ArrayList<>(List.of("tshark", "-n", "-r", capture.file().toString(),
                "-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE", "-Y", filter, "-T", "fields"));
        for (String field : fields) {
            command.addAll(List.of("-e", field));
        }
        try {
            AtomicReference<CommandResult> result = new AtomicReference<>();
            // tcpdump may be writing the last frame.
            Await.until("a capture without a part of a frame", () -> {
                result.set(fixture.pair().peer().namespace().attempt(command.toArray(String[]::new)));
                return !result.get().output().contains("cut short");
            });
            return result.get().orThrow().output().lines().filter(line -> !line.startsWith("Running as user")).toList();
        } catch (java.io.UncheckedIOException e) {
            assumeTrue(false, "needs tshark: apt-get install tshark");
            throw e;
        }
    }
}
