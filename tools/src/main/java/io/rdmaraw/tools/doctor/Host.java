package io.rdmaraw.tools.doctor;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import java.util.zip.GZIPInputStream;

/** Facts about this host, read from /proc, /sys, /dev and /boot. Tests use a different root directory. */
final class Host {
    private static final Pattern KERNEL_VERSION = Pattern.compile("^(\\d+)\\.(\\d+)");

    private final Path root;

    Host(Path root) {
        this.root = root;
    }

    Optional<String> read(String file) {
        try {
            return Optional.of(Files.readString(root.resolve(file)).strip());
        } catch (IOException e) {
            return Optional.empty();
        }
    }

    /** Returns the contents of a file; empty if it cannot be read. */
    byte[] readBytes(String file) {
        try {
            return Files.readAllBytes(root.resolve(file));
        } catch (IOException e) {
            return new byte[0];
        }
    }

    boolean exists(String file) {
        return Files.exists(root.resolve(file));
    }

    List<String> list(String directory) {
        try (Stream<Path> entries = Files.list(root.resolve(directory))) {
            return entries.map(path -> path.getFileName().toString()).sorted().toList();
        } catch (IOException e) {
            return List.of();
        }
    }

    /** Returns the value that follows a name at the start of a line, such as "CapEff:" in /proc/self/status. */
    Optional<String> valueOf(String file, String name) {
        return read(file).flatMap(text -> text.lines().filter(line -> line.startsWith(name)).findFirst())
                .map(line -> line.substring(name.length()).strip());
    }

    /** Returns whether this user may read and write a file or device. */
    boolean mayUse(String file) {
        Path path = root.resolve(file);
        return Files.isReadable(path) && Files.isWritable(path);
    }

    /** Returns an environment variable of this process, which is also the environment of the provider. */
    Optional<String> environment(String name) {
        return read("proc/self/environ").flatMap(all -> Stream.of(all.split("\0"))
                .filter(variable -> variable.startsWith(name + '=')).findFirst())
                .map(variable -> variable.substring(name.length() + 1));
    }

    boolean hasCapability(Capability capability) {
        return isInSet("CapEff:", capability);
    }

    /** Returns whether a program started by this process could hold the capability: it is in the bounding set. */
    boolean mayEverHave(Capability capability) {
        return isInSet("CapBnd:", capability);
    }

    private boolean isInSet(String name, Capability capability) {
        return valueOf("proc/self/status", name).map(hex -> Long.parseUnsignedLong(hex, 16))
                .filter(set -> (set >>> capability.number() & 1) != 0).isPresent();
    }

    /** Returns the soft limit of locked memory in bytes; {@link Long#MAX_VALUE} if unlimited. */
    long memlockBytes() {
        return valueOf("proc/self/limits", "Max locked memory").map(line -> line.split("\\s+")[0])
                .map(value -> value.equals("unlimited") ? Long.MAX_VALUE : Long.parseLong(value)).orElse(0L);
    }

    /**
     * Returns an option of the running kernel, such as {@code CONFIG_BPF_SYSCALL}. An option that is not set is "n".
     * Empty if the options cannot be read.
     */
    Optional<String> kernelOption(String option) {
        return kernelOptions().map(text -> text.lines().filter(line -> line.startsWith(option + '=')).findFirst()
                .map(line -> line.substring(option.length() + 1)).orElse("n"));
    }

    /** Returns whether the kernel has at least this version. An unreadable version counts as new. */
    boolean isKernelFrom(int major, int minor) {
        Matcher version = KERNEL_VERSION.matcher(read("proc/sys/kernel/osrelease").orElse(""));
        if (!version.find()) {
            return true;
        }
        int itsMajor = Integer.parseInt(version.group(1));
        return itsMajor > major || itsMajor == major && Integer.parseInt(version.group(2)) >= minor;
    }

    private Optional<String> kernelOptions() {
        try {
            byte[] packed = Files.readAllBytes(root.resolve("proc/config.gz"));
            try (GZIPInputStream in = new GZIPInputStream(new ByteArrayInputStream(packed))) {
                return Optional.of(new String(in.readAllBytes(), StandardCharsets.US_ASCII));
            }
        } catch (IOException notThere) {
            return read("proc/sys/kernel/osrelease").flatMap(release -> read("boot/config-" + release));
        }
    }
}
