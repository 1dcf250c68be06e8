package io.rdmaraw.testsuite.verbs;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.rdmaraw.net.rdma.PortAddresses;
import io.rdmaraw.verbs.Flow;
import io.rdmaraw.verbs.QueuePair;
import io.rdmaraw.verbs.VerbsException;
import io.rdmaraw.verbs.flow.FlowSpec;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.function.Executable;

/**
 * What every provider of the verbs ABI must do, whichever carries the frames. Subclasses say between which two devices
 * frames travel; a loop device reaches itself.
 *
 * <p>That something does not arrive is shown by what is sent after it: frames between two queue pairs keep their order.
 */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
abstract class ProviderConformance {
    /** The devices under test. */
    interface Devices {
        /** The device that sends. */
        String sender();

        /** The device that receives what {@link #sender} sends; can be the same. */
        String receiver();

        /** What a frame carries at most, behind its Ethernet header. */
        default int mtuBytes() {
            return 1500;
        }

        /**
         * Tells whether a port may let in only frames for the unicast addresses in its interface's list, as a virtual
         * function does. Most rules here name no address, so the tests put those of their frames into it.
         */
        default boolean filtersAddresses() {
            return false;
        }
    }

    /** What the frames of all tests are sent to, those that no rule takes among them. */
    private static final List<String> ADDRESSES = List.of("02:00:00:00:00:02", "02:00:00:00:00:03", "02:00:00:00:00:09",
            "02:00:00:00:00:0f", "06:00:00:00:00:02");

    final Devices devices;
    Port sender;
    Port receiver;
    private final List<PortAddresses> addresses = new ArrayList<>();

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
        PortAddresses address = PortAddresses.use(devices.receiver(), 1, number);
        addresses.add(address);
        assertNull(address.problem());
    }

    @AfterEach
    void close() {
        addresses.forEach(PortAddresses::release);
        sender.close();
        receiver.close();
    }

    /** A rule in text form. */
    static Flow flow(QueuePair queuePair, String rule) {
        return queuePair.createFlow(FlowSpec.parse(rule));
    }

    /** A receiving queue pair with a rule, and receives posted. */
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
