package io.rdmaraw.tools.run;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.util.Arrays;
import java.util.Collection;

/** Counts the bytes that a set of threads allocates on the Java heap, based on the JVM's counters per thread. */
public final class AllocationMeter {
    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

    private final long[] threadIds;
    private long startBytes;

    public AllocationMeter(Collection<Thread> threads) {
        threadIds = threads.stream().mapToLong(Thread::threadId).toArray();
        THREADS.setThreadAllocatedMemoryEnabled(true);
        start();
    }

    /** Resets the count to zero. */
    public void start() {
        startBytes = total();
    }

    /** Returns the bytes allocated by all of the threads since the start. */
    public long bytes() {
        return total() - startBytes;
    }

    private long total() {
        long[] bytes = THREADS.getThreadAllocatedBytes(threadIds);
        if (Arrays.stream(bytes).anyMatch(value -> value < 0)) {
            throw new IllegalStateException("a thread whose allocations are counted has ended");
        }
        return Arrays.stream(bytes).sum();
    }
}
