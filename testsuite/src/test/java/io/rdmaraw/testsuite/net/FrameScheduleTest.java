package io.rdmaraw.testsuite.net;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Comparator;
import java.util.PriorityQueue;
import java.util.Random;
import org.junit.jupiter.api.Test;

class FrameScheduleTest {
    private record Entry(long due, int place) {
    }

    @Test
    void framesComeOutByTimeAndAmongEqualsInOrder() {
        FrameSchedule schedule = new FrameSchedule();
        // Places are assigned in ascending order, so they show the order of arrival.
        PriorityQueue<Entry> model = new PriorityQueue<>(Comparator.comparing(Entry::due).thenComparing(Entry::place));
        Random random = new Random(1);
        for (int place = 0; place < 50_000; place++) {
            long due = random.nextInt(1000);
            schedule.add(place, due);
            model.add(new Entry(due, place));
            while (random.nextInt(20) > 9 && !model.isEmpty()) {
                removeFirst(schedule, model);
            }
        }
        while (!model.isEmpty()) {
            removeFirst(schedule, model);
        }
        assertTrue(schedule.isEmpty());
        assertEquals(Long.MAX_VALUE, schedule.firstNanos());
    }

    private static void removeFirst(FrameSchedule schedule, PriorityQueue<Entry> model) {
        Entry expected = model.poll();
        assertEquals(expected.due(), schedule.firstNanos());
        assertEquals(expected.place(), schedule.removeFirst());
    }
}
