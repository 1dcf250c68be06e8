package io.rdmaraw.microbench.tcp;

import io.rdmaraw.metrics.RdmaRawMetrics;
import java.nio.file.Path;
import java.util.List;

/** The memory of this process and of TCP in the kernel, and the slots of our event loops. */
final class HeldMemory {
    private static final ProcFile PROCESS = new ProcFile(Path.of("/proc/self/status"));
    private static final ProcFile SOCKETS = new ProcFile(Path.of("/proc/net/sockstat"));
    private static final long PAGE_BYTES = 4096;
    private static final long KILO = 1024;
    private static final List<String> SLOTS_SHORT = List.of("slow-consumer", "receive-queue-low");

    private HeldMemory() {
    }

    /** Returns the resident bytes of the process. */
    static long processBytes() {
        return number(PROCESS, "VmRSS:", "VmRSS:") * KILO;
    }

    /** Returns the bytes of TCP in the kernel, of the whole machine, which the namespace's file tells too. */
    static long kernelTcpBytes() {
        return number(SOCKETS, "TCP:", "mem") * PAGE_BYTES;
    }

    /** Returns the number after a word, in the line that starts with another word, or 0 without such a line. */
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

    /** Returns the slots of our event loops that are not free. */
    static long slotsInUse() {
        return sum(List.of("slots.in-use"));
    }

    /**
     * Counts frames that were copied, and polls that found no slot, because handlers or connections held the memory.
     */
    static long slotsShort() {
        return sum(SLOTS_SHORT);
    }

    private static long sum(List<String> names) {
        return RdmaRawMetrics.loops().stream().flatMap(loop -> loop.ports().stream())
                .mapToLong(port -> port.metrics().stream().filter(metric -> names.contains(metric.name()))
                        .mapToLong(port::value).sum()).sum();
    }
}
