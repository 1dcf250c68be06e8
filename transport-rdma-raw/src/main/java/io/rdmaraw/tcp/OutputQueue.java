package io.rdmaraw.tcp;

/** A FIFO queue of the connections that have something to send, linked by {@link Tcb#nextInOutputQueue}. */
final class OutputQueue {
    private TcpConnection head;
    private TcpConnection tail;

    TcpConnection head() {
        return head;
    }

    void add(TcpConnection c) {
        if (c.is(Tcb.OUTPUT_QUEUED)) {
            return;
        }
        c.set(Tcb.OUTPUT_QUEUED);
        if (tail == null) {
            head = c;
        } else {
            tail.nextInOutputQueue = c;
        }
        tail = c;
    }

    /** Removes the first connection after its turn. */
    void removeHead() {
        TcpConnection c = head;
        head = c.nextInOutputQueue;
        c.nextInOutputQueue = null;
        if (head == null) {
            tail = null;
        }
        c.clear(Tcb.OUTPUT_QUEUED);
    }

    /** Removes a queued connection. Unlike with {@link #removeHead}, the caller clears {@link Tcb#OUTPUT_QUEUED}. */
    void remove(TcpConnection c) {
        TcpConnection before = null;
        for (TcpConnection other = head; other != c; other = other.nextInOutputQueue) {
            before = other;
        }
        if (before == null) {
            head = c.nextInOutputQueue;
        } else {
            before.nextInOutputQueue = c.nextInOutputQueue;
        }
        if (tail == c) {
            tail = before;
        }
        c.nextInOutputQueue = null;
    }
}
