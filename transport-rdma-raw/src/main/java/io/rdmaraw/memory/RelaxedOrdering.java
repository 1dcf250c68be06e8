package io.rdmaraw.memory;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;

/**
 * Determines whether PCIe may reorder a device's writes to slabs, which lets the root complex write the frames
 * of a burst in parallel. Completions remain ordered: they are in libmlx5's memory, and the device writes each
 * one after its frame has become visible. Linux' mlx5e treats its buffers in the same way.
 *
 * <p>Relaxed ordering lowers the bandwidth of Intel's Haswell and Broadwell processors (errata BDF92 and
 * HSE122), so it is off on these, as in DPDK's mlx5 driver. Kernels ignore the flag if they do not know it
 * ({@code IBV_ACCESS_OPTIONAL_RANGE}); libibverbs omits it on kernels that would reject it.
 */
final class RelaxedOrdering {
    /** System property; {@code false} disables relaxed ordering. */
    static final String PROPERTY = "io.rdmaraw.relaxedOrdering";
    /** {@code IBV_ACCESS_RELAXED_ORDERING}. */
    static final int ACCESS_FLAG = 1 << 20;
    /** Models of family 6: Broadwell, then Haswell. */
    private static final Set<String> SLOWER_MODELS = Set.of("61", "71", "79", "86", "60", "63", "69", "70");

    static final int HOST_ACCESS_FLAG = accessFlag(System.getProperty(PROPERTY), read(Path.of("/proc/cpuinfo")));

    private RelaxedOrdering() {
    }

    /** Returns the access flag for memory regions, or 0. */
    static int accessFlag(String property, String cpuInfo) {
        return "false".equals(property) || isSlower(cpuInfo) ? 0 : ACCESS_FLAG;
    }

    private static boolean isSlower(String cpuInfo) {
        return "GenuineIntel".equals(firstValue(cpuInfo, "vendor_id")) && "6".equals(firstValue(cpuInfo, "cpu family"))
                && SLOWER_MODELS.contains(firstValue(cpuInfo, "model"));
    }

    private static String firstValue(String cpuInfo, String key) {
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
