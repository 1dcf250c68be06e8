package io.rdmaraw.testsuite.sim;

import java.util.Map;
import java.util.TreeMap;

/** A set of numbers, stored as ranges. The start of a range is inclusive, its end exclusive. */
final class Ranges {
    private final TreeMap<Long, Long> ranges = new TreeMap<>();

    void add(long from, long to) {
        if (to <= from) {
            return;
        }
        long start = from;
        long end = to;
        Map.Entry<Long, Long> before = ranges.floorEntry(start);
        if (before != null && before.getValue() >= start) {
            start = before.getKey();
            end = Math.max(end, before.getValue());
        }
        for (Map.Entry<Long, Long> next = ranges.ceilingEntry(start); next != null && next.getKey() <= end;
                next = ranges.ceilingEntry(start)) {
            end = Math.max(end, next.getValue());
            ranges.remove(next.getKey());
        }
        ranges.put(start, end);
    }

    void remove(long from, long to) {
        for (Map.Entry<Long, Long> range = ranges.lowerEntry(to); range != null && range.getValue() > from;
                range = ranges.lowerEntry(to)) {
            ranges.remove(range.getKey());
            add(to, range.getValue());
            if (range.getKey() < from) {
                ranges.put(range.getKey(), from);
                return;
            }
        }
    }

    boolean contains(long from, long to) {
        Map.Entry<Long, Long> range = ranges.floorEntry(from);
        return range != null && range.getValue() >= to;
    }

    /** Returns the end of the range that contains or ends at {@code from}, or {@code from} if there is none. */
    long endOf(long from) {
        Map.Entry<Long, Long> range = ranges.floorEntry(from);
        return range == null ? from : Math.max(from, range.getValue());
    }
}
