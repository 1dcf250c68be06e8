package io.rdmaraw.tools.bench.server;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Processor time until now, in the kernel's ticks of 10 ms.
 *
 * @param processSeconds of one process, in user and kernel mode
 * @param machineSeconds of all cores together with anything to do: processes and interrupts. What the kernel does in
 *                       soft interrupts, such as running XDP programs and its IP stack, is in here, whichever process
 *                       it happens to interrupt
 */
public record CpuTimes(double processSeconds, double machineSeconds) {
    /** As /proc reports times on every architecture that the kernel has been built for since 2.6. */
    private static final double TICKS_PER_SECOND = 100;
    private static final int UTIME = 11;
    private static final int STIME = 12;

    public static CpuTimes read(long pid) {
        // The name of the program, in parentheses, may contain blanks.
        String stat = text("/proc/" + pid + "/stat");
        String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ");
        // user nice system idle iowait irq softirq steal ...
        String[] machine = text("/proc/stat").lines().findFirst().orElseThrow().strip().split("\\s+");
        long busy = 0;
        for (int column : new int[] {1, 2, 3, 6, 7}) {
            busy += Long.parseLong(machine[column]);
        }
        return new CpuTimes((Long.parseLong(fields[UTIME]) + Long.parseLong(fields[STIME])) / TICKS_PER_SECOND,
                busy / TICKS_PER_SECOND);
    }

    public CpuTimes since(CpuTimes before) {
        return new CpuTimes(processSeconds - before.processSeconds, machineSeconds - before.machineSeconds);
    }

    private static String text(String file) {
        try {
            return Files.readString(Path.of(file));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
