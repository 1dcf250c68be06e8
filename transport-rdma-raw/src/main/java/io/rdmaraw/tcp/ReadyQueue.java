package io.rdmaraw.tcp;

/** A FIFO queue of the connections that have something to send, linked by {@link Tcb#nextReady}. */
final class ReadyQueue {
    private TcpConnection head;
    private TcpConnection tail;

    TcpConnection head() {
        return head;
    }

    void add(TcpConnection c) {
        if (c.is(Tcb.READY)) {
            return;
        }
        c.set(Tcb.READY);
        if (tail == null) {
            head = c;
        } else {
            tail.nextReady = c;
        }
        tail = c;
    }

    /** Removes the first connection after its turn. */
    void removeHead() {
        TcpConnection c = head;
        head = c.nextReady;
        c.nextReady = null;
        if (head == null) {
            tail = null;
        }
        c.clear(Tcb.READY);
    }

    /** Removes a connection that is in the queue. */
    void remove(TcpConnection c) {
        TcpConnection before = null;
        for (TcpConnection other = head; other != c; other = other.nextReady) {
            before = other;
        }
        if (before == null) {
            head = c.nextReady;
        } else {
            before.nextReady = c.nextReady;
        }
        if (tail == c) {
            tail = before;
        }
        c.nextReady = null;
    }
}
