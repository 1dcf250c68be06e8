package io.rdmaraw.microbench.tcp;

import io.rdmaraw.metrics.RdmaRawMetrics;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;

/**
 * Counts the connections that were accepted by a SYN cookie. The count covers the stacks of this transport in this
 * process and the kernel in the namespace of the process.
 */
final class SynCookies {
    private static final String OURS = "syn-cookies.accepted";
    /** The file consists of pairs of lines: one with names and one with their values. */
    private static final ProcFile KERNELS = new ProcFile(Path.of("/proc/net/netstat"));
    private static final String KERNELS_NAME = "SyncookiesRecv";

    private SynCookies() {
    }

    static long accepted() {
        return ours() + kernels();
    }

    private static long ours() {
        return RdmaRawMetrics.loops().stream().flatMap(loop -> loop.queues().stream())
                .flatMap(queue -> queue.totals("tcp").entrySet().stream())
                .filter(total -> total.getKey().name().equals(OURS)).mapToLong(total -> total.getValue()).sum();
    }

    private static long kernels() {
        List<String> lines = KERNELS.lines();
        for (int i = 0; i + 1 < lines.size(); i += 2) {
            int column = Arrays.asList(lines.get(i).split(" ")).indexOf(KERNELS_NAME);
            if (column >= 0) {
                return Long.parseLong(lines.get(i + 1).split(" ")[column]);
            }
        }
        return 0;
    }
}
