package io.rdmaraw.microbench.process;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class CpuTimesTest {
    private static final double DELTA = 1e-9;

    private static List<String> procStat(String first, String second) {
        return List.of("cpu  1 2 3 4 5 6 7 8 9 10", "cpu0 " + first, "cpu1 " + second, "cpu10 0 0 0 0 0 0 0 0 0 0",
                "intr 1 2 3", "softirq 1 2 3");
    }

    /** A core is busy whenever it is neither idle nor used by the hypervisor, regardless of the kind of work. */
    @Test
    void countsAllThatACoreDid() {
        CpuTimes before = CpuTimes.read(0, procStat("10 0 10 1000 50 0 0 20 0 0", "0 0 0 500 0 0 0 0 0 0"), 1);
        CpuTimes after = CpuTimes.read(TimeUnit.SECONDS.toNanos(2),
                procStat("99 9 99 1040 60 9 99 30 0 0", "1 0 1 550 0 5 100 10 0 0"), 1);
        CpuTimes.Spent spent = after.since(before);
        assertEquals(1.4, spent.serverSeconds(), DELTA);
        // Busy time: 1.4 seconds on the first core, 1.4 on the second, and all 2 seconds on the third.
        assertEquals(1.4 + 1.4 + 2, spent.machineSeconds(), DELTA);
    }
}
