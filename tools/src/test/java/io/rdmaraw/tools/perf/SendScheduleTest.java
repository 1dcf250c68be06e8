package io.rdmaraw.tools.perf;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class SendScheduleTest {
    @Test
    void aStallIsMadeUpFor() {
        SendSchedule schedule = SendSchedule.ofRate(1_000_000, 10);
        schedule.start(500);
        assertEquals(10, schedule.due(500));
        assertEquals(10, schedule.due(10_499));
        assertEquals(20, schedule.due(10_500));
        assertEquals(10_010, schedule.due(10_000_500));
        assertEquals(500, schedule.intendedNanos(9));
        assertEquals(10_500, schedule.intendedNanos(10));
    }

    @Test
    void withoutARateEverythingIsDue() {
        assertTrue(SendSchedule.ofRate(0, 10).isUnlimited());
        assertEquals(Long.MAX_VALUE, SendSchedule.unlimited().due(0));
    }
}
