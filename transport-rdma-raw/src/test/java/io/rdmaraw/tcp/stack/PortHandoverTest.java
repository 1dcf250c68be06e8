package io.rdmaraw.tcp.stack;

import io.netty.buffer.Unpooled;
import io.rdmaraw.net.IpAddress;
import io.rdmaraw.tcp.segment.Segment;
import io.rdmaraw.tcp.stack.receive.ReceivedFrames;
import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.List;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

class PortHandoverTest {
    private static final int PORT = 443;
    private final PortHandover handover = new PortHandover();

    private static Segment segmentFor(String address, int port) {
        IpAddress destination = IpAddress.parse(address);
        return new Segment().destination(destination.high(), destination.low(), port);
    }

    private void drain(String local) {
        handover.begin(List.of(new PortHandover.HandoverPort(IpAddress.parse(local), PORT)),
                PortHandover.Role.DRAINING);
    }

    /** The successor has not bound the other address, so the draining process must answer there. */
    @Test
    void portIsSharedPerAddress() {
        drain("10.0.0.1");
        assertTrue(handover.isOnHandoverPort(segmentFor("10.0.0.1", PORT)));
        assertFalse(handover.isOnHandoverPort(segmentFor("10.0.0.1", PORT + 1)));
        assertFalse(handover.isOnHandoverPort(segmentFor("10.0.0.2", PORT)));
        // There is no stack that could count a drop, so this passes only if nothing is dropped.
        assertFalse(handover.handleUnmatched(null, segmentFor("10.0.0.2", PORT)), "a SYN goes to the listener");
        assertTrue(handover.mayReset(null, segmentFor("10.0.0.2", PORT)));
    }

    @Test
    void wildcardCoversEachAddress() {
        drain("0.0.0.0");
        assertTrue(handover.isOnHandoverPort(segmentFor("10.0.0.1", PORT)));
        assertFalse(handover.isOnHandoverPort(segmentFor("10.0.0.1", PORT + 1)));
        drain("::");
        assertTrue(handover.isOnHandoverPort(segmentFor("2001:db8::1", PORT)));
    }

    /** The core receives consecutive segments as one merged segment. Each of its frames is passed on separately. */
    @Test
    void eachFrameOfASegmentIsPassedOn() {
        List<String> passed = new ArrayList<>();
        handover.startForwarding(List.of(), (stack, frame) -> passed.size() < 2
                && passed.add(frame.toString(US_ASCII)));
        ReceivedFrames received = new ReceivedFrames();
        received.begin(Unpooled.copiedBuffer("first", US_ASCII), true);
        received.add(Unpooled.copiedBuffer("second", US_ASCII));
        received.add(Unpooled.copiedBuffer("third", US_ASCII));
        assertEquals(2, handover.forward(null, received), "there was room for two");
        assertEquals(List.of("first", "second"), passed);
        received.end();
    }
}
