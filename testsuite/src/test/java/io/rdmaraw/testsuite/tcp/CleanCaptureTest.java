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
import java.util.List;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

/** What Wireshark's dissectors say about our segments on a wire that loses nothing. */
@Timeout(120)
@WithTestNetwork
@ExtendWith(LeakExtension.class)
class CleanCaptureTest {
    private static final int CONNECTIONS = 10;
    /** An answer that is later than this may have been asked for again, by a tail loss probe or a timeout. */
    private static final double EXPLAINED_SECONDS = 0.002;

    @Test
    void wiresharkFindsNothingWrong(TestNetwork network) throws Exception {
        // Frames as on a cable: checksums that are left out, and packets beyond the MTU, would count as wrong.
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
            assertEquals(List.of(), tshark(fixture, capture, "_ws.malformed || tcp.checksum.status == 0"
                    + " || ip.checksum.status == 0 || _ws.expert.severity >= 8388608", "_ws.expert.message"));
            // From us to the kernel nothing is lost or out of order, nor does the kernel see a hole.
            assertEquals(List.of(), tshark(fixture, capture, "tcp.analysis.lost_segment || tcp.analysis.out_of_order"
                    + " || tcp.analysis.fast_retransmission || tcp.analysis.ack_lost_segment", "_ws.expert.message"));
            for (String line : tshark(fixture, capture, "tcp.analysis.retransmission && " + ours, "tcp.analysis.rto")) {
                assertTrue(!line.isBlank() && Double.parseDouble(line) > EXPLAINED_SECONDS,
                        "sent again after " + line + " s, in which the kernel may well have answered");
            }
        }
    }

    /** A field of the frames that a display filter passes, a line for each. */
    private static List<String> tshark(EchoFixture fixture, PacketCapture capture, String filter, String field) {
        List<String> command = new ArrayList<>(List.of("tshark", "-n", "-r", capture.file().toString(),
                "-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE", "-Y", filter, "-T", "fields",
                "-e", field));
        try {
            CommandResult result = fixture.pair().peer().namespace().run(command.toArray(String[]::new));
            return result.output().lines().filter(line -> !line.startsWith("Running as user")).toList();
        } catch (java.io.UncheckedIOException e) {
            assumeTrue(false, "needs tshark: apt-get install tshark");
            throw e;
        }
    }
}
