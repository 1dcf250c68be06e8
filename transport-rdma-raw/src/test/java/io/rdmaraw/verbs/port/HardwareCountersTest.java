package io.rdmaraw.verbs.port;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests where mlx5 shows {@code out_of_buffer}: {@code drivers/infiniband/hw/mlx5/counters.c}. */
class HardwareCountersTest {
    @TempDir
    private Path sys;

    private void put(String directory, String value) throws IOException {
        Path counters = sys.resolve("class/infiniband/mlx5_0/" + directory + "/hw_counters");
        Files.createDirectories(counters);
        Files.writeString(counters.resolve("out_of_buffer"), value + '\n');
    }

    private long total(int portCount) {
        return HardwareCounters.of(sys, "mlx5_0", portCount).outOfBufferTotal();
    }

    /** {@code hw_stats_ops} of mlx5_ib. */
    @Test
    void portsAreCountedTogether() throws IOException {
        assertEquals(0, total(1));
        put("ports/1", "5");
        put("ports/2", "7");
        assertEquals(12, total(2));
    }

    /** {@code hw_switchdev_stats_ops} of mlx5_ib. */
    @Test
    void deviceIsCountedInSwitchdevMode() throws IOException {
        put(".", "9");
        Files.createDirectories(sys.resolve("class/infiniband/mlx5_0/ports/1/hw_counters"));
        assertEquals(9, total(3));
    }
}
