package io.rdmaraw.tools.report;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.netty.util.Version;
import io.rdmaraw.channel.RdmaRaw;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;

/** What a figure depends on besides the code that was measured. */
public final class Environment {
    private Environment() {
    }

    /** The machine; each value as the system calls it. */
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

    /** Processes that wanted a core in the last minute; negative where the system does not tell. */
    static double loadAverage() {
        return ManagementFactory.getOperatingSystemMXBean().getSystemLoadAverage();
    }

    /** The versions of what runs. */
    public static ObjectNode versions() {
        ObjectNode versions = Json.object();
        versions.put("rdmaRaw", RdmaRaw.version());
        versions.put("java", Runtime.version().toString());
        versions.put("vm", System.getProperty("java.vm.name"));
        Version netty = Version.identify().get("netty-transport");
        versions.put("netty", netty == null ? "unknown" : netty.artifactVersion());
        return versions;
    }

    /** The value after the name and a ':' or '=', or "unknown": a figure without its machine is still a figure. */
    private static String firstValue(String file, String name) {
        try (Stream<String> lines = Files.lines(Path.of(file))) {
            return lines.filter(line -> line.startsWith(name)).findFirst()
                    .map(line -> line.substring(name.length()).replaceFirst("^\\s*[:=]\\s*", "")).orElse("unknown");
        } catch (IOException e) {
            return "unknown";
        }
    }
}
