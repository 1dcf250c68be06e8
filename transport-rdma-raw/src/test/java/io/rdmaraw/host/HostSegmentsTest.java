package io.rdmaraw.host;

import io.netty.buffer.ByteBuf;
import io.rdmaraw.route.IcmpError;
import io.rdmaraw.route.IpAddress;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.Executor;
import java.util.stream.Stream;

import static org.junit.jupiter.api.Assertions.assertTrue;

@Timeout(60)
class HostSegmentsTest {
    private static final int PORT = 40_001;
    private static final int ROUNDS = 64;

    /** A stack that gets nothing here. */
    private static final class NoStack implements PortOwner {
        @Override
        public Executor loop() {
            return Runnable::run;
        }

        @Override
        public void receiveUnsteered(ByteBuf frame, boolean checksumVerified) {
            frame.release();
        }

        @Override
        public void receiveReassembled(ByteBuf packet, IpAddress source, IpAddress destination) {
            packet.release();
        }

        @Override
        public void icmpError(IcmpError error) {
        }
    }

    private static long eventDescriptors() throws IOException {
        try (Stream<Path> all = Files.list(Path.of("/proc/self/fd"))) {
            return all.filter(HostSegmentsTest::isEventDescriptor).count();
        }
    }

    private static boolean isEventDescriptor(Path descriptor) {
        try {
            return Files.readSymbolicLink(descriptor).toString().contains("eventfd");
        } catch (IOException e) {
            // It is closed by now.
            return false;
        }
    }

    /** Connections that end with their stack give their ports back after it has left. */
    @Test
    void whoComesAndGoesLeavesNothingOpen() throws Exception {
        long before = eventDescriptors();
        for (int i = 0; i < ROUNDS; i++) {
            NoStack stack = new NoStack();
            HostSegments segments = HostSegments.join("lo", stack);
            segments.hold(PORT);
            segments.leave(stack);
            Thread.sleep(1);
            segments.release(PORT);
        }
        // Those whose threads have not come to it yet; and other tests have such descriptors too.
        for (int i = 0; i < 100 && eventDescriptors() - before > ROUNDS / 2; i++) {
            Thread.sleep(100);
        }
        assertTrue(eventDescriptors() - before <= ROUNDS / 2, "event descriptors stay open");
    }
}
