package io.rdmaraw.microbench.process;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * A snapshot of the idle times of the cores from {@code /proc/stat}, which has a resolution of 10 ms. The busy time of
 * a core is the elapsed time minus its idle time.
 *
 * <p>The kernel measures idle time exactly, but only samples the times of processes. It attributes a soft interrupt to
 * the process that it interrupts. On an idle core it attributes the interrupt to no process.
 *
 * @param nanos              time of the snapshot
 * @param serverIdleSeconds  idle time of the core that runs only the server and the kernel's packet processing for it
 * @param machineIdleSeconds sum of the idle times of all cores
 * @param cores              number of cores
 */
public record CpuTimes(long nanos, double serverIdleSeconds, double machineIdleSeconds, int cores) {
    /** {@code USER_HZ}, which is 100 on every architecture since Linux 2.6. */
    private static final double TICKS_PER_SECOND = 100;
    private static final double NANOS_PER_SECOND = 1e9;
    /**
     * Indexes of the columns idle, iowait and steal. The columns after the name are: user nice system idle iowait irq
     * softirq steal. The hypervisor used the time that is counted as steal.
     */
    private static final int[] NOT_BUSY = {4, 5, 8};

    /**
     * The processor time used between two snapshots.
     *
     * @param serverSeconds  busy time of the server's core: its process in user and kernel mode, and soft interrupts
     * @param machineSeconds busy time of all cores, including the load generator
     */
    public record Spent(double serverSeconds, double machineSeconds) {
    }

    /**
     * Takes a snapshot.
     *
     * @param serverCore number of the core that runs the server
     */
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
