package io.rdmaraw.channel.loop;

import io.rdmaraw.loop.LoopFailures;
import io.rdmaraw.metrics.RdmaRawMetric;
import org.junit.jupiter.api.Test;

import java.util.concurrent.atomic.AtomicLong;

import static org.junit.jupiter.api.Assertions.assertEquals;

/** Times that the statistics of a loop report. */
class LoopStatisticsTest {
    private final AtomicLong clock = new AtomicLong(Long.MAX_VALUE - 10);
    private final LoopStatistics loop = new LoopStatistics(new LoopFailures(), clock::get);

    private long nanos(String name) {
        return loop.value(loop.metrics().stream().filter(metric -> metric.kind() == RdmaRawMetric.Kind.NANOS
                && metric.name().equals(name)).findFirst().orElseThrow());
    }

    /**
     * A sleep counts while it lasts. Otherwise a monitor that divides each second into work and sleep sees an idle loop
     * as busy.
     */
    @Test
    void sleepCountsWhileItLasts() {
        clock.addAndGet(100);
        loop.sleepStarted(clock.get());
        clock.addAndGet(1000);
        assertEquals(1000, nanos("sleep"));
        assertEquals(1100, nanos("alive"));
        clock.addAndGet(1000);
        assertEquals(2000, nanos("sleep"));
        loop.sleepEnded();
        clock.addAndGet(50);
        assertEquals(2000, nanos("sleep"), "awake");
        loop.sleepStarted(clock.get());
        assertEquals(2000, nanos("sleep"), "it has just fallen asleep");
        clock.addAndGet(7);
        assertEquals(2007, nanos("sleep"));
        assertEquals(2157, nanos("alive"));
    }

    /** The first sleep of a loop may begin in the nanosecond in which the loop starts. */
    @Test
    void loopMaySleepInNanosecondOfItsStart() {
        loop.sleepStarted(clock.get());
        assertEquals(0, nanos("sleep"));
        clock.addAndGet(5);
        assertEquals(5, nanos("sleep"));
        loop.sleepEnded();
        assertEquals(5, nanos("sleep"));
    }
}
