package io.rdmaraw.tools.run;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.util.Arrays;
import java.util.Collection;

/** Counts the bytes that some threads allocate on the Java heap, by the counters of the JVM per thread. */
public final class AllocationMeter {
    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

    private final long[] threadIds;
    private long startBytes;

    public AllocationMeter(Collection<Thread> threads) {
        threadIds = threads.stream().mapToLong(Thread::threadId).toArray();
        THREADS.setThreadAllocatedMemoryEnabled(true);
        start();
    }

    /** Starts counting from zero. */
    public void start() {
        startBytes = total();
    }

    /** Returns the bytes that all of the threads have allocated since the start. */
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
