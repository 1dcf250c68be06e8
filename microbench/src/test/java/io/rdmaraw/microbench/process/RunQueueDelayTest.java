package io.rdmaraw.microbench.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmaraw.microbench.process.RunQueueDelay.Times;
import java.util.Map;
import org.junit.jupiter.api.Test;

class RunQueueDelayTest {
    private static final RunQueueDelay BEFORE = new RunQueueDelay(Map.of("1", new Times(5_000, 9_000_000), "2",
            new Times(80_000, 100)));

    @Test
    void readsTheKernelsLine() {
        assertEquals(new Times(123, 456), RunQueueDelay.times("123 456 7\n"));
    }

    @Test
    void tellsOfTheThreadThatRanMostSinceThen() {
        RunQueueDelay now = new RunQueueDelay(Map.of("1", new Times(6_005_000, 12_000_000), "2",
                new Times(90_000, 7_000_000)));

        assertEquals(0.003, now.busiestWaitedSecondsSince(BEFORE));
    }

    @Test
    void aThreadThatIsNewCountsFromItsStart() {
        RunQueueDelay now = new RunQueueDelay(Map.of("2", new Times(80_000, 100), "3", new Times(10, 2_000_000)));

        assertEquals(0.002, now.busiestWaitedSecondsSince(BEFORE));
    }

    @Test
    void tellsNothingWhereNothingWasCounted() {
        assertTrue(Double.isNaN(new RunQueueDelay(Map.of()).busiestWaitedSecondsSince(BEFORE)));
    }

    @Test
    void findsTheThreadsOfThisProcess() {
        assertTrue(RunQueueDelay.read(ProcessHandle.current().pid()).threads().values().stream()
                .anyMatch(times -> times.runNanos() > 0));
    }
}
