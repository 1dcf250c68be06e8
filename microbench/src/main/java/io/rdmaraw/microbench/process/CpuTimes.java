package io.rdmaraw.microbench.process;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * How long cores have been busy, computed from the idle times in {@code /proc/stat}, in ticks of 10 ms. The kernel
 * measures idle time exactly. It only samples the times of processes: a soft interrupt counts as time of the process
 * that it interrupts, and on an idle core as time of no process.
 *
 * @param nanos              when it was read
 * @param serverIdleSeconds  of the core that has the server, and all that the kernel receives for it, to itself
 * @param machineIdleSeconds of all cores together
 * @param cores              how many these are
 */
public record CpuTimes(long nanos, double serverIdleSeconds, double machineIdleSeconds, int cores) {
    /** USER_HZ: 100 on every architecture since Linux 2.6. */
    private static final double TICKS_PER_SECOND = 100;
    private static final double NANOS_PER_SECOND = 1e9;
    /** Columns after the name: user nice system idle iowait irq softirq steal. Steal is time of the hypervisor. */
    private static final int[] NOT_BUSY = {4, 5, 8};

    /**
     * The time that was used between two readings.
     *
     * @param serverSeconds  of the server's core: its process, in user and kernel mode, and soft interrupts
     * @param machineSeconds of all cores, with what the generator did
     */
    public record Spent(double serverSeconds, double machineSeconds) {
    }

    /** Reads the clock and the idle times. */
    public static CpuTimes read(int serverCore) {
        List<String> lines;
        try {
            lines = Files.readAllLines(Path.of("/proc/stat"));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return read(System.nanoTime(), lines, serverCore);
    }

    static CpuTimes read(long nanos, List<String> procStat, int serverCore) {
        double server = 0;
        double machine = 0;
        int cores = 0;
        for (String line : procStat) {
            String[] fields = line.split("\\s+");
            if (fields[0].startsWith("cpu") && fields[0].length() > "cpu".length()) {
                double idle = idleSeconds(fields);
                machine += idle;
                server += fields[0].equals("cpu" + serverCore) ? idle : 0;
                cores++;
            }
        }
        return new CpuTimes(nanos, server, machine, cores);
    }

    private static double idleSeconds(String[] fields) {
        double ticks = 0;
        for (int column : NOT_BUSY) {
            ticks += Long.parseLong(fields[column]);
        }
        return ticks / TICKS_PER_SECOND;
    }

    public Spent since(CpuTimes before) {
        double seconds = (nanos - before.nanos) / NANOS_PER_SECOND;
        return new Spent(seconds - (serverIdleSeconds - before.serverIdleSeconds),
                cores * seconds - (machineIdleSeconds - before.machineIdleSeconds));
    }
}
