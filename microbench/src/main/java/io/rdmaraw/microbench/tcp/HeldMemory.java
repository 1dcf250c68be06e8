package io.rdmaraw.microbench.tcp;

import io.rdmaraw.metrics.RdmaRawMetrics;
import java.nio.file.Path;
import java.util.List;

/**
 * Reads the memory use of this process and of the kernel's TCP, and the slots in use by the event loops of this
 * transport.
 */
final class HeldMemory {
    private static final ProcFile PROCESS = new ProcFile(Path.of("/proc/self/status"));
    private static final ProcFile SOCKETS = new ProcFile(Path.of("/proc/net/sockstat"));
    private static final long PAGE_BYTES = 4096;
    private static final long KILO = 1024;
    private static final List<String> SLOTS_SHORT = List.of("slow-consumer", "receive-queue-low");

    private HeldMemory() {
    }

    /** Returns the resident set size of this process. */
    static long processBytes() {
        return number(PROCESS, "VmRSS:", "VmRSS:") * KILO;
    }

    /**
     * Returns the memory of TCP in the kernel, in bytes. The value covers the whole machine, even in a network
     * namespace.
     */
    static long kernelTcpBytes() {
        return number(SOCKETS, "TCP:", "mem") * PAGE_BYTES;
    }

    /**
     * Returns the number that follows a word, in the first line with the given prefix. Returns 0 if there is no such
     * line.
     */
    private static long number(ProcFile file, String line, String word) {
        String[] words = file.lines().stream().filter(each -> each.startsWith(line)).findFirst().orElse(line)
                .split("\\s+");
        for (int i = 0; i + 1 < words.length; i++) {
            if (words[i].equals(word)) {
                return Long.parseLong(words[i + 1]);
            }
        }
        return 0;
    }

    /** Returns the number of slots in use by the event loops of this transport. */
    static long slotsInUse() {
        return sum(List.of("slots.in-use"));
    }

    /**
     * Returns how often slots were short: the number of frames that were copied and of polls that found no free slot,
     * because handlers or connections held the memory.
     */
    static long slotsShort() {
        return sum(SLOTS_SHORT);
    }

    private static long sum(List<String> names) {
        return RdmaRawMetrics.loops().stream().flatMap(loop -> loop.queues().stream())
                .mapToLong(queue -> queue.metrics().stream().filter(metric -> names.contains(metric.name()))
                        .mapToLong(queue::value).sum()).sum();
    }
}
