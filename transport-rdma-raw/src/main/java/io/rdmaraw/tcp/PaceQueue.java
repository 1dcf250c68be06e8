package io.rdmaraw.tcp;

import java.util.Arrays;

/**
 * A binary heap of the connections that wait for their pacers, ordered by send time. The {@link TimerWheel} is
 * not used because its ticks are as long as a burst and would round the send time.
 */
final class PaceQueue {
    private TcpConnection[] heap = new TcpConnection[16];
    private int size;

    /** Returns the earliest send time in nanoseconds, or {@link Tcb#NEVER}. */
    long nextNanos() {
        return size == 0 ? Tcb.NEVER : heap[0].pacer.queuedNanos;
    }

    /** Schedules a connection, replacing its previous send time. */
    void schedule(TcpConnection c, long nanos) {
        Pacer p = c.pacer;
        if (p.place == Pacer.NOT_QUEUED) {
            if (size == heap.length) {
                heap = Arrays.copyOf(heap, size * 2);
            }
            p.queuedNanos = nanos;
            siftUp(c, size++);
        } else if (p.queuedNanos != nanos) {
            p.queuedNanos = nanos;
            siftUp(c, p.place);
            siftDown(c, p.place);
        }
    }

    void remove(TcpConnection c) {
        if (c.pacer == null || c.pacer.place == Pacer.NOT_QUEUED) {
            return;
        }
        int place = c.pacer.place;
        c.pacer.place = Pacer.NOT_QUEUED;
        TcpConnection last = heap[--size];
        heap[size] = null;
        if (last != c) {
            siftUp(last, place);
            siftDown(last, last.pacer.place);
        }
    }

    /** Removes and returns a connection that may send now; returns null if there is none. */
    TcpConnection pollDue(long nowNanos) {
        if (size == 0 || heap[0].pacer.queuedNanos > nowNanos) {
            return null;
        }
        TcpConnection c = heap[0];
        remove(c);
        return c;
    }

    private void siftUp(TcpConnection c, int from) {
        int place = from;
        while (place > 0) {
            int above = (place - 1) / 2;
            if (heap[above].pacer.queuedNanos <= c.pacer.queuedNanos) {
                break;
            }
            put(heap[above], place);
            place = above;
        }
        put(c, place);
    }

    private void siftDown(TcpConnection c, int from) {
        int place = from;
        while (2 * place + 1 < size) {
            int below = 2 * place + 1;
            if (below + 1 < size && heap[below + 1].pacer.queuedNanos < heap[below].pacer.queuedNanos) {
                below++;
            }
            if (heap[below].pacer.queuedNanos >= c.pacer.queuedNanos) {
                break;
            }
            put(heap[below], place);
            place = below;
        }
        put(c, place);
    }

    private void put(TcpConnection c, int place) {
        heap[place] = c;
        c.pacer.place = place;
    }
}
