package io.rdmaraw.testsuite.sim;

import java.util.PriorityQueue;

/** The events of a run in virtual time. Events with the same time run in the order of insertion. */
final class EventQueue {
    private record Event(long timeNanos, long order, Runnable action) implements Comparable<Event> {
        @Override
        public int compareTo(Event other) {
            int byTime = Long.compare(timeNanos, other.timeNanos);
            return byTime != 0 ? byTime : Long.compare(order, other.order);
        }
    }

    private final PriorityQueue<Event> events = new PriorityQueue<>();
    private long order;

    void at(long timeNanos, Runnable action) {
        events.add(new Event(timeNanos, order++, action));
    }

    /** Returns the time of the first event, or {@link Long#MAX_VALUE} if there is none. */
    long nextNanos() {
        return events.isEmpty() ? Long.MAX_VALUE : events.peek().timeNanos;
    }

    /** Runs the first event if it is due, and returns whether it did. */
    boolean runOne(long nowNanos) {
        if (nextNanos() > nowNanos) {
            return false;
        }
        events.remove().action.run();
        return true;
    }

    boolean isEmpty() {
        return events.isEmpty();
    }
}
