package io.rdmaraw.testsuite.verbs;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.rdmaraw.faults.SoftverbsFaults;
import io.rdmaraw.testsuite.net.TestNetwork;
import io.rdmaraw.testsuite.net.WithTestNetwork;
import io.rdmaraw.verbs.objects.QueuePair;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Malformed and fragmented frames do not match rules on fields that they lack. Frames that follow are received. */
@WithTestNetwork
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class WireBadFramesTest {
    private static final int OUR_PORT = 7777;
    private static final int MORE_FRAGMENTS = 0x2000;
    private static final byte[] GOOD = Frames.udp4("192.0.2.1", 9, "192.0.2.2", OUR_PORT);

    private static byte[] fragment(int flagsAndOffset) {
        return Frames.ipv4(17, 64, 0, flagsAndOffset, "192.0.2.1", "192.0.2.2", Frames.l4(17, 9, OUR_PORT));
    }

    private static List<byte[]> badFrames() {
        byte[] longHeader = GOOD.clone();
        longHeader[Frames.ETHERNET_HEADER_BYTES] = 0x4f;    // 60 bytes of IPv4 header, longer than the packet
        byte[] wrongVersion = GOOD.clone();
        wrongVersion[Frames.ETHERNET_HEADER_BYTES] = 0x65;
        return List.of(
                Arrays.copyOf(GOOD, 18), Arrays.copyOf(GOOD, 33), Arrays.copyOf(GOOD, 36), longHeader, wrongVersion,
                fragment(MORE_FRAGMENTS), fragment(1), fragment(MORE_FRAGMENTS | 100),
                Frames.tagged(GOOD, 5), Frames.tagged(Frames.tagged(GOOD, 5), 6));
    }

    @ParameterizedTest
    @ValueSource(strings = {"xdp", "packet"})
    void portRuleMatchesOnlyFramesWithThatPort(String kind, TestNetwork network) {
        WireConformance wire = new WireConformance(kind, network);
        try (Port sender = new Port(wire.sender()); Port receiver = new Port(wire.receiver())) {
            QueuePair from = sender.readyQueuePair();
            QueuePair to = receiver.readyQueuePair();
            ProviderConformance.flow(to, "dst 192.0.2.2 udp dst-port " + OUR_PORT);
            receiver.receive(to, 64);
            for (byte[] bad : badFrames()) {
                sender.send(from, bad);
                sender.send(from, GOOD);
                Port.Completion completion = receiver.await();
                assertArrayEquals(GOOD, receiver.bytes(completion), "after a frame of " + bad.length + " bytes");
            }
            assertEquals(badFrames().size(), SoftverbsFaults.of(receiver.context).received(to).frames());
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"xdp", "packet"})
    void aFrameTaggedTwiceIsTakenByItsOuterTag(String kind, TestNetwork network) {
        WireConformance wire = new WireConformance(kind, network);
        byte[] twice = Frames.tagged(Frames.tagged(GOOD, 5), 6);
        try (Port sender = new Port(wire.sender()); Port receiver = new Port(wire.receiver())) {
            QueuePair from = sender.readyQueuePair();
            QueuePair to = receiver.readyQueuePair();
            ProviderConformance.flow(to, "vlan 6");
            receiver.receive(to, 8);
            sender.send(from, Frames.tagged(GOOD, 5));
            sender.send(from, twice);
            assertArrayEquals(twice, receiver.bytes(receiver.await()));
        }
    }
}
