package io.rdmaraw.memory;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;

/**
 * Whether PCIe may reorder a device's writes to a slab. A root complex can then write the frames of a burst at once.
 * What tells of a frame stays in order: completions are written to memory of libmlx5's, and the device writes each
 * after its frame has become visible. So does Linux' mlx5e with its buffers.
 *
 * <p>Intel's Haswell and Broadwell processors lose bandwidth by it (errata BDF92 and HSE122), so it is off there, as in
 * DPDK's mlx5 driver. The flag is one of those that the kernel ignores where it does not know them ({@code
 * IBV_ACCESS_OPTIONAL_RANGE}); libibverbs leaves them out before kernels that would refuse them.
 */
final class RelaxedOrdering {
    /** {@code false}: never. */
    static final String PROPERTY = "io.rdmaraw.relaxedOrdering";
    /** {@code IBV_ACCESS_RELAXED_ORDERING}. */
    static final int ACCESS = 1 << 20;
    /** Of family 6: Broadwell, Haswell. */
    private static final Set<String> SLOWER_MODELS = Set.of("61", "71", "79", "86", "60", "63", "69", "70");

    static final int ACCESS_HERE = access(System.getProperty(PROPERTY), read(Path.of("/proc/cpuinfo")));

    private RelaxedOrdering() {
    }

    /** Returns the flag for memory regions, or 0. */
    static int access(String property, String cpuInfo) {
        return "false".equals(property) || isSlower(cpuInfo) ? 0 : ACCESS;
    }

    private static boolean isSlower(String cpuInfo) {
        return "GenuineIntel".equals(first(cpuInfo, "vendor_id")) && "6".equals(first(cpuInfo, "cpu family"))
                && SLOWER_MODELS.contains(first(cpuInfo, "model"));
    }

    private static String first(String cpuInfo, String key) {
        return cpuInfo.lines().map(line -> line.split(":", 2))
                .filter(parts -> parts.length == 2 && parts[0].strip().equals(key))
                .map(parts -> parts[1].strip()).findFirst().orElse("");
    }

    private static String read(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            return "";
        }
    }
}
