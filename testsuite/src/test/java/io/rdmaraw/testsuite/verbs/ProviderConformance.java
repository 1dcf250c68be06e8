package io.rdmaraw.testsuite.verbs;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.rdmaraw.verbs.VerbsException;
import io.rdmaraw.verbs.flow.FlowSpec;
import io.rdmaraw.verbs.objects.Flow;
import io.rdmaraw.verbs.objects.QueuePair;
import io.rdmaraw.verbs.port.PortMacAddress;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.function.Executable;

/**
 * The requirements for every provider of the verbs ABI. Subclasses name the two devices; a loop device sends to itself.
 *
 * <p>To check that a frame is not delivered, tests send another frame after it and wait for that one: frames between
 * two queue pairs keep their order.
 */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
abstract class ProviderConformance {
    /** The devices under test. */
    interface Devices {
        /** The device that sends. */
        String sender();

        /** The device that receives the frames of {@link #sender}. It can be the same one. */
        String receiver();

        /** Maximum payload of a frame after its Ethernet header. */
        default int mtuBytes() {
            return 1500;
        }

        /**
         * Returns whether the port may receive only frames for the unicast addresses in its interface's list, like a
         * virtual function. Most rules here name no address, so the tests add the destinations of their frames to that
         * list.
         */
        default boolean filtersAddresses() {
            return false;
        }
    }

    /** The destination addresses of the frames of all tests, including frames that match no rule. */
    private static final List<String> ADDRESSES = List.of("02:00:00:00:00:02", "02:00:00:00:00:03", "02:00:00:00:00:09",
            "02:00:00:00:00:0f", "06:00:00:00:00:02");

    final Devices devices;
    Port sender;
    Port receiver;
    private final List<PortMacAddress> addresses = new ArrayList<>();

    ProviderConformance(Devices devices) {
        this.devices = devices;
    }

    @BeforeEach
    void open() {
        sender = new Port(devices.sender());
        receiver = new Port(devices.receiver());
        if (devices.filtersAddresses()) {
            ADDRESSES.forEach(this::letIn);
        }
    }

    private void letIn(String mac) {
        long number = HexFormat.fromHexDigitsToLong(mac.replace(":", ""));
        PortMacAddress address = PortMacAddress.acquire(receiver.context.providerDeviceName(),
                receiver.context.ownPort(), number);
        addresses.add(address);
        assertNull(address.problem());
    }

    @AfterEach
    void close() {
        addresses.forEach(PortMacAddress::release);
        sender.close();
        receiver.close();
    }

    /** Creates a rule from its text form. */
    static Flow flow(QueuePair queuePair, String rule) {
        return queuePair.createFlow(FlowSpec.parse(rule));
    }

    /** Returns a queue pair that receives by this rule and has receives posted. */
    QueuePair listener(String rule, int receives) {
        QueuePair queuePair = receiver.readyQueuePair();
        receiver.receive(queuePair, receives);
        flow(queuePair, rule);
        return queuePair;
    }

    static void assertFails(int errno, Executable call) {
        VerbsException e = assertThrows(VerbsException.class, call);
        assertEquals(errno, e.errno(), e.getMessage());
    }

    static void assertFrames(List<byte[]> expected, List<byte[]> actual) {
        assertEquals(expected.size(), actual.size());
        for (int i = 0; i < expected.size(); i++) {
            assertArrayEquals(expected.get(i), actual.get(i), "frame " + i);
        }
    }
}
