package io.rdmaraw.tools.output;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * The busy time of the machine's processors, read from the first line of /proc/stat (proc_stat(5)).
 *
 * @param busySeconds sum over all processors, without idle time, I/O wait and time stolen by the hypervisor
 */
record ProcessorTime(double busySeconds) {
    private static final double TICKS_PER_SECOND = 100;
    /** Indexes of the busy fields after the word "cpu": user, nice, system, irq, softirq. Skips idle and iowait. */
    private static final int[] BUSY_FIELDS = {1, 2, 3, 6, 7};

    /** Reads the file. Returns zero if it is unavailable. */
    static ProcessorTime read(Path file) {
        try {
            String[] fields = Files.readAllLines(file).getFirst().split("\\s+");
            long ticks = 0;
            for (int field : BUSY_FIELDS) {
                ticks += Long.parseLong(fields[field]);
            }
            return new ProcessorTime(ticks / TICKS_PER_SECOND);
        } catch (IOException | RuntimeException e) {
            return new ProcessorTime(0);
        }
    }
}
