package io.rdmaraw.testsuite.sim;

import java.util.PriorityQueue;

/** What is due when, in virtual time. Events of one time happen in the order in which they were put in. */
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

    /** Returns the time of the first event, or {@link Long#MAX_VALUE}. */
    long nextNanos() {
        return events.isEmpty() ? Long.MAX_VALUE : events.peek().timeNanos;
    }

    /** Runs the first event if it is due. */
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
