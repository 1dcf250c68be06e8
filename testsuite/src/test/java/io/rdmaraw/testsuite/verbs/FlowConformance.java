package io.rdmaraw.testsuite.verbs;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.rdmaraw.ffi.Errno;
import io.rdmaraw.verbs.VerbsException;
import io.rdmaraw.verbs.flow.FlowSpec;
import io.rdmaraw.verbs.objects.Flow;
import io.rdmaraw.verbs.objects.QueuePair;
import io.rdmaraw.verbs.objects.QueuePairOptions;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Flow rules deliver each frame to the correct queue pairs. */
abstract class FlowConformance extends ProviderConformance {
    private static final byte[] RAW = Frames.raw("02:00:00:00:00:02", "02:00:00:00:00:01", Frames.ETHER_TYPE, 60);
    private static final byte[] DNS = Frames.udp4("10.1.0.1", 5353, "10.2.0.2", 53);
    /**
     * Receives the frame that ends a test. Its priority is above that of all other rules, which therefore never receive
     * it.
     */
    private static final String LAST_RULE = "src-mac 0e:0e:0e:0e:0e:0e ether-type 0x88b6 priority 0";
    /**
     * Number of receives for a rule that matches all frames. It may also receive frames that the hosts' kernels send.
     */
    private static final int MANY = 64;
    private static final byte[] LAST = Frames.raw("02:00:00:00:00:02", "0e:0e:0e:0e:0e:0e", 0x88b6, 60);

    FlowConformance(Devices devices) {
        super(devices);
    }

    static Stream<Arguments> matches() {
        byte[] fragment = Frames.ipv4(17, 64, 0, 0x00b9, "10.1.0.1", "10.2.0.2", new byte[32]);
        byte[] firstFragment = Frames.ipv4(17, 64, 0, 0x2000, "10.1.0.1", "10.2.0.2", Frames.l4(17, 5353, 53));
        byte[] tcp = Frames.tcp4("10.1.0.1", 40000, "10.2.0.2", 80);
        byte[] udp6 = Frames.udp6("2001:db8::1", 5353, "2001:db8::2", 53);
        byte[] tunnel = Frames.vxlan(0x1234, Frames.tcp4("192.168.0.1", 1, "192.168.0.2", 2));
        return Stream.of(
                // rule, frame that matches, frame that does not match
                Arguments.of("dst-mac 02:00:00:00:00:02", RAW, withByte(RAW, 5, 3)),
                Arguments.of("dst-mac 02:00:00:00:00:00/ff:00:00:00:00:00", RAW, withByte(RAW, 0, 6)),
                Arguments.of("src-mac 02:00:00:00:00:01", RAW, withByte(RAW, 11, 2)),
                Arguments.of("ether-type 0x88b5", RAW, withByte(RAW, 13, 0xb4)),
                Arguments.of("vlan 5", Frames.tagged(RAW, 0xe005), Frames.tagged(RAW, 6)),
                Arguments.of("vlan 5 ether-type 0x88b5", Frames.tagged(RAW, 5), Frames.tagged(DNS, 5)),
                Arguments.of("vlan 5", Frames.tagged(RAW, 5), RAW),
                Arguments.of("vlan 0", Frames.tagged(RAW, 0x6000), RAW),
                Arguments.of("vlan-tag 0x6005/0xffff", Frames.tagged(RAW, 0x6005), Frames.tagged(RAW, 5)),
                Arguments.of("ip4", DNS, udp6),
                Arguments.of("ip4", DNS, RAW),
                Arguments.of("ip6", udp6, DNS),
                Arguments.of("dst 10.2.0.2", DNS, Frames.udp4("10.1.0.1", 5353, "10.2.0.3", 53)),
                Arguments.of("src 10.1.0.0/16", DNS, Frames.udp4("10.3.0.1", 5353, "10.2.0.2", 53)),
                Arguments.of("src 10.0.0.1/255.0.0.255", DNS, Frames.udp4("10.1.0.2", 5353, "10.2.0.2", 53)),
                Arguments.of("ip4 proto 6", tcp, DNS),
                Arguments.of("ip4 ttl 64", DNS, Frames.ipv4(17, 63, "10.1.0.1", "10.2.0.2", Frames.l4(17, 5353, 53))),
                Arguments.of("ip4 tos 0xb8/0xfc",
                        Frames.ipv4(17, 64, 0xb9, 0, "10.1.0.1", "10.2.0.2", Frames.l4(17, 1, 2)), DNS),
                Arguments.of("dst 2001:db8::2", udp6, Frames.udp6("2001:db8::1", 5353, "2001:db8::3", 53)),
                Arguments.of("src 2001:db8::/65", udp6, Frames.udp6("2001:db8:0:0:8000::1", 5353, "2001:db8::2", 53)),
                Arguments.of("ip6 ttl 63", udp6, withByte(udp6, 21, 64)),
                Arguments.of("flow-label 0x12345/0xfffff", udp6, Frames.udp4("10.1.0.1", 1, "10.2.0.2", 2)),
                Arguments.of("udp dst-port 53", DNS, tcp),
                Arguments.of("udp dst-port 53", udp6, Frames.tcp6("2001:db8::1", 5353, "2001:db8::2", 53)),
                Arguments.of("udp src-port 5353", DNS, Frames.udp4("10.1.0.1", 5354, "10.2.0.2", 53)),
                Arguments.of("ip4 udp dst-port 0x30/0xfff0", DNS, Frames.udp4("10.1.0.1", 5353, "10.2.0.2", 64)),
                Arguments.of("tcp dst-port 80 src-port 40000 dst 10.2.0.2 src 10.1.0.1", tcp,
                        Frames.tcp4("10.1.0.1", 40001, "10.2.0.2", 80)),
                Arguments.of("ip4 udp dst-port 53", DNS, fragment),
                Arguments.of("dst 10.2.0.2", fragment, Frames.udp4("10.1.0.1", 5353, "10.2.0.3", 53)),
                Arguments.of("ip4 udp", DNS, tcp),
                Arguments.of("ip4 ip-flags 4/4", firstFragment, DNS),
                Arguments.of("udp dst-port 4789 vxlan 0x1234", tunnel, Frames.vxlan(0x1235, new byte[60])),
                Arguments.of("vxlan 0x1234 inner dst 192.168.0.2 tcp dst-port 2", tunnel,
                        Frames.vxlan(0x1234, Frames.tcp4("192.168.0.1", 1, "192.168.0.2", 3))));
    }

    /** Returns whether the provider does not support this match. */
    boolean refusesMatch(String rule) {
        return false;
    }

    /** Returns whether IP rules without a VLAN also match tagged frames. */
    boolean takesTagged() {
        return false;
    }

    @Test
    void aRuleOfIpIsForUntaggedFramesWhereTheProviderLooks() {
        QueuePair listening = listener("ip4 udp dst-port 53 priority 1", 4);
        flow(listening, LAST_RULE);
        byte[] tagged = Frames.tagged(DNS, 5);
        QueuePair sending = sender.readyQueuePair();
        sender.send(sending, tagged);
        sender.send(sending, LAST);
        List<byte[]> expected = takesTagged() ? List.of(tagged, LAST) : List.of(LAST);
        assertFrames(expected, receiver.awaitFrames(expected.size()));
    }

    private static byte[] withByte(byte[] frame, int index, int value) {
        byte[] copy = frame.clone();
        copy[index] = (byte) value;
        return copy;
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("matches")
    void ruleTakesOnlyMatchingFrames(String rule, byte[] matching, byte[] other) {
        if (refusesMatch(rule)) {
            assertFails(Errno.EOPNOTSUPP, () -> flow(receiver.readyQueuePair(), rule));
            return;
        }
        QueuePair listening = listener(rule + " priority 1", 8);
        flow(listening, LAST_RULE);
        QueuePair sending = sender.readyQueuePair();
        sender.send(sending, other);
        sender.send(sending, matching);
        sender.send(sending, LAST);
        assertFrames(List.of(matching, LAST), receiver.awaitFrames(2));
    }

    @Test
    void aRuleOnAnAllZeroMaskTakesEverything() {
        listener("all", MANY);
        QueuePair sending = sender.readyQueuePair();
        sender.send(sending, RAW);
        sender.send(sending, DNS);
        assertFrames(List.of(RAW, DNS), receiver.awaitOwnFrames(2));
    }

    @Test
    void theLowerPriorityNumberIsLookedAtFirst() {
        listener("dst 10.2.0.2 priority 3 tag 3", 4);
        listener("dst 10.2.0.2 udp dst-port 53 priority 1 tag 1", 4);
        listener("all priority 7 tag 7", MANY);
        QueuePair sending = sender.readyQueuePair();
        assertEquals(1, tagOf(sending, DNS));
        assertEquals(3, tagOf(sending, Frames.udp4("10.1.0.1", 5353, "10.2.0.2", 54)));
        assertEquals(7, tagOf(sending, RAW));
    }

    /**
     * Sends a frame and returns the tag of the matching rule. Completions carry the tag in the field of the queue pair
     * number.
     */
    private int tagOf(QueuePair sending, byte[] frame) {
        sender.send(sending, frame);
        return receiver.awaitOwn(1).getFirst().queuePairNumber();
    }

    private static List<Integer> sortedTags(List<Port.Completion> completions) {
        return completions.stream().map(Port.Completion::queuePairNumber).sorted().toList();
    }

    @Test
    void closingARuleGivesItsFramesToTheNext() {
        QueuePair first = receiver.readyQueuePair();
        listener("ether-type 0x88b5 priority 5 tag 5", 4);
        receiver.receive(first, 4);
        Flow flow = flow(first, "ether-type 0x88b5 priority 2 tag 2");
        QueuePair sending = sender.readyQueuePair();
        assertEquals(2, tagOf(sending, RAW));
        flow.close();
        assertEquals(5, tagOf(sending, RAW));
    }

    @Test
    void theSameRuleTwiceExists() {
        QueuePair first = listener("dst 10.2.0.2 udp dst-port 53", 1);
        QueuePair second = receiver.readyQueuePair();
        assertFails(Errno.EEXIST, () -> flow(second, "dst 10.2.0.2 udp dst-port 53"));
        flow(second, "dst 10.2.0.2 udp dst-port 53 priority 1");
        flow(second, "dst 10.2.0.2 udp dst-port 54");
        first.close();
        flow(second, "dst 10.2.0.2 udp dst-port 53");
    }

    @Test
    void prioritiesEndAtFifteen() {
        QueuePair queuePair = receiver.readyQueuePair();
        flow(queuePair, "ether-type 0x88b5 priority 15");
        assertFails(Errno.ENOMEM, () -> flow(queuePair, "ether-type 0x88b5 priority 16"));
    }

    @Test
    void rulesThatCannotBeAreRefused() {
        QueuePair queuePair = receiver.readyQueuePair();
        assertFails(Errno.EINVAL, () -> flow(queuePair, "ether-type 0x88b5 port 99"));
    }

    @Test
    void tagDistinguishesRulesOfOneQueue() {
        QueuePair listening = listener("udp dst-port 53 tag 1", 4);
        flow(listening, "tcp dst-port 80 tag 0xffffff");
        QueuePair sending = sender.readyQueuePair();
        sender.send(sending, DNS);
        assertEquals(1, receiver.await().queuePairNumber());
        sender.send(sending, Frames.tcp4("10.1.0.1", 1, "10.2.0.2", 80));
        assertEquals(0xffffff, receiver.await().queuePairNumber());
    }

    @Test
    void dontTrapGivesACopyAndTheSearchGoesOn() {
        listener("udp dst-port 53 priority 1 dont-trap tag 1", 4);
        listener("udp dst-port 53 priority 2 tag 2", 4);
        sender.send(sender.readyQueuePair(), DNS);
        List<Port.Completion> both = receiver.await(2);
        assertEquals(List.of(1, 2), sortedTags(both));
        both.forEach(c -> assertArrayEquals(DNS, receiver.bytes(c)));
    }

    @Test
    void defaultRulesTakeOnlyUnmatchedFrames() {
        listener("udp dst-port 53 tag 1", 4);
        listener("all-default", MANY);
        QueuePair sending = sender.readyQueuePair();
        assertEquals(1, tagOf(sending, DNS));
        assertEquals(0, tagOf(sending, RAW));
    }

    @Test
    void theMulticastDefaultTakesMulticastOnly() {
        QueuePair multicast = listener("mc-default", MANY);
        flow(multicast, LAST_RULE);
        byte[] group = Frames.raw("01:00:5e:00:00:01", "02:00:00:00:00:01", Frames.ETHER_TYPE, 60);
        byte[] broadcast = Frames.raw("ff:ff:ff:ff:ff:ff", "02:00:00:00:00:01", Frames.ETHER_TYPE, 60);
        QueuePair sending = sender.readyQueuePair();
        sender.send(sending, RAW);
        sender.send(sending, group);
        sender.send(sending, broadcast);
        sender.send(sending, LAST);
        assertFrames(List.of(group, broadcast, LAST), receiver.awaitOwnFrames(3));
    }

    @Test
    void theSnifferGetsACopyAndThereIsOnlyOne() {
        listener("sniffer", MANY);
        listener("udp dst-port 53 tag 2", 4);
        QueuePair another = receiver.readyQueuePair();
        assertThrows(VerbsException.class, () -> flow(another, "sniffer"));
        sender.send(sender.readyQueuePair(), DNS);
        List<Port.Completion> both = receiver.awaitOwn(2);
        assertEquals(List.of(0, 2), sortedTags(both));
        both.forEach(c -> assertArrayEquals(DNS, receiver.bytes(c)));
    }

    @Test
    void aDropRuleDrops() {
        QueuePair listening = listener("udp priority 3", 4);
        flow(listening, "udp dst-port 53 drop priority 1");
        byte[] other = Frames.udp4("10.1.0.1", 1, "10.2.0.2", 54);
        QueuePair sending = sender.readyQueuePair();
        sender.send(sending, DNS);
        sender.send(sending, other);
        assertFrames(List.of(other), receiver.awaitFrames(1));
    }

    @Test
    void blockedSelfMulticastComesBackToOthersOnly() {
        QueuePair talking = Port.ready(receiver.queuePair(o -> o.createFlags(
                QueuePairOptions.BLOCK_SELF_MULTICAST_LOOPBACK)));
        receiver.receive(talking, 4);
        flow(talking, "ether-type 0x88b5 dont-trap tag 1");
        flow(talking, LAST_RULE + " tag 3");
        listener("ether-type 0x88b5 priority 1 tag 2", 4);
        if (!devices.sender().equals(devices.receiver())) {
            return;
        }
        byte[] broadcast = Frames.raw("ff:ff:ff:ff:ff:ff", "02:00:00:00:00:01", Frames.ETHER_TYPE, 60);
        receiver.send(talking, broadcast);
        receiver.send(talking, LAST);
        List<Port.Completion> received = receiver.await(2);
        assertEquals(List.of(2, 3), received.stream().map(Port.Completion::queuePairNumber).toList());
        assertArrayEquals(LAST, receiver.bytes(received.get(1)));
    }
}
