package io.rdmaraw.tools.output;

import com.fasterxml.jackson.databind.node.ObjectNode;
import com.sun.management.OperatingSystemMXBean;
import io.netty.util.Version;
import io.rdmaraw.channel.RdmaRaw;
import java.io.IOException;
import java.io.PrintWriter;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.stream.Stream;

/** The environment of a measurement: the machine and the versions of the software. */
public final class Environment {
    /** Usage in cores above which other programs disturb a measurement. An idle machine stays below it. */
    private static final double BUSY_CORES = 0.25;
    private static final long POLL_MILLIS = 200;
    private static final Path PROCESSOR_TIMES = Path.of("/proc/stat");

    private Environment() {
    }

    /** Returns a description of the machine. */
    public static ObjectNode machine() {
        ObjectNode machine = Json.object();
        machine.put("cpu", firstValue("/proc/cpuinfo", "model name"));
        machine.put("cores", Runtime.getRuntime().availableProcessors());
        machine.put("memory", firstValue("/proc/meminfo", "MemTotal"));
        machine.put("os", firstValue("/etc/os-release", "PRETTY_NAME").replace("\"", ""));
        machine.put("kernel", System.getProperty("os.version"));
        machine.put("arch", System.getProperty("os.arch"));
        machine.put("loadAverage", Json.rounded(loadAverage()));
        return machine;
    }

    /** Returns the average number of runnable processes in the last minute; negative if it is not available. */
    private static double loadAverage() {
        return ManagementFactory.getOperatingSystemMXBean().getSystemLoadAverage();
    }

    /** Prints a warning if other programs use the cores, because they would affect the measurement. */
    public static void warnIfBusy(PrintWriter out) {
        double cores = coresOfOthers();
        if (cores > BUSY_CORES) {
            out.println(String.format(Locale.ROOT, "rdma-raw: other programs use %.1f of %d cores: expect noise", cores,
                    Runtime.getRuntime().availableProcessors()));
            out.flush();
        }
    }

    /**
     * Measures for {@link #POLL_MILLIS} how many cores other processes use. The load average covers the last minute and
     * would usually include the user's previous command.
     */
    private static double coresOfOthers() {
        OperatingSystemMXBean system = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        ProcessorTime before = ProcessorTime.read(PROCESSOR_TIMES);
        long ownBefore = system.getProcessCpuTime();
        long start = System.nanoTime();
        try {
            Thread.sleep(POLL_MILLIS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        double seconds = (System.nanoTime() - start) / 1e9;
        double own = (system.getProcessCpuTime() - ownBefore) / 1e9;
        return (ProcessorTime.read(PROCESSOR_TIMES).busySeconds() - before.busySeconds() - own) / seconds;
    }

    /** Returns the versions of the software. */
    public static ObjectNode versions() {
        ObjectNode versions = Json.object();
        versions.put("rdmaRaw", RdmaRaw.version());
        versions.put("java", Runtime.version().toString());
        versions.put("vm", System.getProperty("java.vm.name"));
        Version netty = Version.identify().get("netty-transport");
        versions.put("netty", netty == null ? "unknown" : netty.artifactVersion());
        return versions;
    }

    /**
     * Returns the value after a name and ':' or '='. Returns "unknown" if there is none, because a result is useful
     * without it, too.
     */
    private static String firstValue(String file, String name) {
        try (Stream<String> lines = Files.lines(Path.of(file))) {
            return lines.filter(line -> line.startsWith(name)).findFirst()
                    .map(line -> line.substring(name.length()).replaceFirst("^\\s*[:=]\\s*", "")).orElse("unknown");
        } catch (IOException e) {
            return "unknown";
        }
    }
}
