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
        if (p.heapIndex == Pacer.NOT_QUEUED) {
            if (size == heap.length) {
                heap = Arrays.copyOf(heap, size * 2);
            }
            p.queuedNanos = nanos;
            siftUp(c, size++);
        } else if (p.queuedNanos != nanos) {
            p.queuedNanos = nanos;
            siftUp(c, p.heapIndex);
            siftDown(c, p.heapIndex);
        }
    }

    void remove(TcpConnection c) {
        if (c.pacer == null || c.pacer.heapIndex == Pacer.NOT_QUEUED) {
            return;
        }
        int heapIndex = c.pacer.heapIndex;
        c.pacer.heapIndex = Pacer.NOT_QUEUED;
        TcpConnection last = heap[--size];
        heap[size] = null;
        if (last != c) {
            siftUp(last, heapIndex);
            siftDown(last, last.pacer.heapIndex);
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
        int heapIndex = from;
        while (heapIndex > 0) {
            int parent = (heapIndex - 1) / 2;
            if (heap[parent].pacer.queuedNanos <= c.pacer.queuedNanos) {
                break;
            }
            put(heap[parent], heapIndex);
            heapIndex = parent;
        }
        put(c, heapIndex);
    }

    private void siftDown(TcpConnection c, int from) {
        int heapIndex = from;
        while (2 * heapIndex + 1 < size) {
            int child = 2 * heapIndex + 1;
            if (child + 1 < size && heap[child + 1].pacer.queuedNanos < heap[child].pacer.queuedNanos) {
                child++;
            }
            if (heap[child].pacer.queuedNanos >= c.pacer.queuedNanos) {
                break;
            }
            put(heap[child], heapIndex);
            heapIndex = child;
        }
        put(c, heapIndex);
    }

    private void put(TcpConnection c, int heapIndex) {
        heap[heapIndex] = c;
        c.pacer.heapIndex = heapIndex;
    }
}
