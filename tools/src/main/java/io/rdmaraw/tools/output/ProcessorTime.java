package io.rdmaraw.tools.output;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * How long the processors of a machine have worked, from the first line of /proc/stat (proc_stat(5)).
 *
 * @param busySeconds the sum over all processors, without what they were idle, waited for disks, or were given to other
 *                    virtual machines
 */
record ProcessorTime(double busySeconds) {
    private static final double TICKS_PER_SECOND = 100;
    /** Behind the word "cpu": user, nice, system; then idle and iowait, which are no work; then irq and softirq. */
    private static final int[] BUSY_FIELDS = {1, 2, 3, 6, 7};

    /** Returns zero if the kernel does not tell. */
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
