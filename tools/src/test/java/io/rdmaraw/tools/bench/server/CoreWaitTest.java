package io.rdmaraw.tools.bench.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmaraw.tools.bench.server.CoreWait.Times;
import java.util.Map;
import org.junit.jupiter.api.Test;

class CoreWaitTest {
    private static final CoreWait BEFORE = new CoreWait(Map.of("1", new Times(5_000, 9_000_000), "2",
            new Times(80_000, 100)));

    @Test
    void readsTheKernelsLine() {
        assertEquals(new Times(123, 456), CoreWait.times("123 456 7\n"));
    }

    @Test
    void tellsOfTheThreadThatRanMostSinceThen() {
        CoreWait now = new CoreWait(Map.of("1", new Times(6_005_000, 12_000_000), "2", new Times(90_000, 7_000_000)));

        assertEquals(0.003, now.busiestWaitedSecondsSince(BEFORE));
    }

    @Test
    void aThreadThatIsNewCountsFromItsStart() {
        CoreWait now = new CoreWait(Map.of("2", new Times(80_000, 100), "3", new Times(10, 2_000_000)));

        assertEquals(0.002, now.busiestWaitedSecondsSince(BEFORE));
    }

    @Test
    void tellsNothingWhereNothingWasCounted() {
        assertTrue(Double.isNaN(new CoreWait(Map.of()).busiestWaitedSecondsSince(BEFORE)));
    }

    @Test
    void findsTheThreadsOfThisProcess() {
        assertTrue(CoreWait.read(ProcessHandle.current().pid()).threads().values().stream()
                .anyMatch(times -> times.runNanos() > 0));
    }
}
