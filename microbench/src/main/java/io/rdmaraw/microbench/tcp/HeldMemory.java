package io.rdmaraw.microbench.tcp;

import io.rdmaraw.metrics.RdmaRawMetrics;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** The memory of this process and of TCP in the kernel, and how often the slots of our event loops were short. */
final class HeldMemory {
    private static final Path PROCESS = Path.of("/proc/self/status");
    private static final Path SOCKETS = Path.of("/proc/net/sockstat");
    private static final long PAGE_BYTES = 4096;
    private static final long KILO = 1024;
    private static final List<String> SLOTS_SHORT = List.of("slow-consumer", "receive-queue-low");

    private HeldMemory() {
    }

    /** Returns the resident bytes of the process and the bytes of TCP in the kernel, of the whole machine. */
    static long bytes() {
        return number(PROCESS, "VmRSS:", "VmRSS:") * KILO + number(SOCKETS, "TCP:", "mem") * PAGE_BYTES;
    }

    /** Returns the number after a word, in the line that starts with another word. */
    private static long number(Path file, String line, String word) {
        try {
            String[] words = Files.readAllLines(file).stream().filter(each -> each.startsWith(line)).findFirst()
                    .orElse(line).split("\\s+");
            for (int i = 0; i + 1 < words.length; i++) {
                if (words[i].equals(word)) {
                    return Long.parseLong(words[i + 1]);
                }
            }
            return 0;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /**
     * Counts frames that were copied, and polls that found no slot, because handlers or connections held the memory.
     */
    static long slotsShort() {
        return RdmaRawMetrics.loops().stream().flatMap(loop -> loop.ports().stream())
                .mapToLong(port -> port.metrics().stream().filter(metric -> SLOTS_SHORT.contains(metric.name()))
                        .mapToLong(port::value).sum()).sum();
    }
}
