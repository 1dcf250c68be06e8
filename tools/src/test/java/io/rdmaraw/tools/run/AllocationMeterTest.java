package io.rdmaraw.tools.run;

import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;

/** The meter includes allocations of other threads, which the JVM counts. */
class AllocationMeterTest {
    @Test
    void allocationsOfOtherThreadsAreCounted() throws Exception {
        CountDownLatch allocate = new CountDownLatch(1);
        CountDownLatch allocated = new CountDownLatch(1);
        CountDownLatch end = new CountDownLatch(1);
        byte[][] sink = new byte[1][];
        Thread thread = Thread.ofPlatform().start(() -> {
            try {
                allocate.await();
                sink[0] = new byte[1_000_000];
                allocated.countDown();
                end.await();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        });
        AllocationMeter meter = new AllocationMeter(List.of(thread));
        allocate.countDown();
        allocated.await();
        assertTrue(meter.bytes() >= 1_000_000 && meter.bytes() < 1_100_000, meter.bytes() + " bytes");
        end.countDown();
        thread.join();
        assertThrows(IllegalStateException.class, meter::bytes);
    }
}
