package io.rdmaraw.host.kernel;

import io.netty.buffer.ByteBuf;
import io.rdmaraw.host.PortOwner;
import io.rdmaraw.net.IcmpError;
import io.rdmaraw.net.IpAddress;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

import static org.junit.jupiter.api.Assertions.assertTrue;

@Timeout(60)
class KernelSegmentReaderTest {
    private static final int PORT = 40_001;
    private static final int ROUNDS = 64;
    private static final int MANY_PORTS = 10_000;
    private static final long CHURN_NANOS = TimeUnit.SECONDS.toNanos(2);

    /** A stack that receives nothing. */
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
        public void onIcmpError(IcmpError error) {
        }
    }

    private static long eventDescriptors() throws IOException {
        try (Stream<Path> all = Files.list(Path.of("/proc/self/fd"))) {
            return all.filter(KernelSegmentReaderTest::isEventDescriptor).count();
        }
    }

    private static boolean isEventDescriptor(Path descriptor) {
        try {
            return Files.readSymbolicLink(descriptor).toString().contains("eventfd");
        } catch (IOException e) {
            // It has been closed in the meantime.
            return false;
        }
    }

    /** Connections may release their ports after their stack has left. */
    @Test
    void joiningAndLeavingLeavesNoDescriptorsOpen() throws Exception {
        long before = eventDescriptors();
        for (int i = 0; i < ROUNDS; i++) {
            NoStack stack = new NoStack();
            KernelSegmentReader segments = KernelSegmentReader.join("lo", stack);
            segments.acquirePort(PORT);
            segments.leave(stack);
            Thread.sleep(1);
            segments.releasePort(PORT);
        }
        // Some threads may not have closed their descriptors yet, and other tests have event descriptors too.
        for (int i = 0; i < 500 && eventDescriptors() - before > ROUNDS / 2; i++) {
            Thread.sleep(100);
        }
        assertTrue(eventDescriptors() - before <= ROUNDS / 2, "event descriptors stay open");
    }

    private static long threadNanos() {
        ThreadMXBean threads = ManagementFactory.getThreadMXBean();
        return Arrays.stream(threads.dumpAllThreads(false, false))
                .filter(thread -> thread.getThreadName().equals("rdma-raw-segments"))
                .mapToLong(thread -> threads.getThreadCpuTime(thread.getThreadId())).sum();
    }

    /** Each change compiles two BPF programs in the kernel, so changes are batched. */
    @Test
    void changesUseLimitedProcessorTime() throws Exception {
        NoStack stack = new NoStack();
        KernelSegmentReader segments = KernelSegmentReader.join("lo", stack);
        for (int port = PORT; port < PORT + 2 * MANY_PORTS; port += 2) {
            segments.acquirePort(port);
        }
        long before = threadNanos();
        long began = System.nanoTime();
        while (System.nanoTime() - began < CHURN_NANOS) {
            segments.acquirePort(PORT + 1);
            Thread.sleep(0, 100_000);
            segments.releasePort(PORT + 1);
            Thread.sleep(0, 100_000);
        }
        long spent = threadNanos() - before;
        long lasted = System.nanoTime() - began;
        segments.leave(stack);
        assertTrue(spent < lasted / 4, () -> "it took " + spent + " of " + lasted + " ns");
    }
}
