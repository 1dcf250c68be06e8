package io.rdmaraw.tools.bench.tcp;

import io.rdmaraw.channel.RdmaRawMetrics;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;

/** How many connections came in by a SYN cookie: to our stacks in this process, and to the kernel in its namespace. */
final class SynCookies {
    private static final String OURS = "syn-cookies.accepted";
    /** Pairs of lines: names, and their values. */
    private static final Path KERNELS = Path.of("/proc/net/netstat");
    private static final String KERNELS_NAME = "SyncookiesRecv";

    private SynCookies() {
    }

    static long accepted() {
        return ours() + kernels();
    }

    private static long ours() {
        return RdmaRawMetrics.loops().stream().flatMap(loop -> loop.ports().stream())
                .flatMap(port -> port.channelTotals().entrySet().stream())
                .filter(total -> total.getKey().name().equals(OURS)).mapToLong(total -> total.getValue()).sum();
    }

    private static long kernels() {
        try {
            List<String> lines = Files.readAllLines(KERNELS);
            for (int i = 0; i + 1 < lines.size(); i += 2) {
                int column = Arrays.asList(lines.get(i).split(" ")).indexOf(KERNELS_NAME);
                if (column >= 0) {
                    return Long.parseLong(lines.get(i + 1).split(" ")[column]);
                }
            }
            return 0;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
