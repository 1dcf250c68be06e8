package io.rdmaraw.tcp.stack;

import java.util.Arrays;

/** The transports with events that have not been delivered to their channels yet. Used on the loop's thread only. */
final class ReadyTransports {
    private TcpTransport[] ready = new TcpTransport[16];
    private int count;
    private int next;
    private boolean delivering;

    boolean isEmpty() {
        return count == 0;
    }

    /** Returns whether a delivery is in progress and more transports wait behind the present one. */
    boolean hasMore() {
        return delivering && next < count;
    }

    /** Adds a transport, unless it is already queued. */
    void add(TcpTransport transport) {
        if (!transport.markReady()) {
            return;
        }
        if (count == ready.length) {
            ready = Arrays.copyOf(ready, 2 * count);
        }
        ready[count++] = transport;
    }

    /** Removes a transport that moves to another loop. That loop delivers its events when it arrives. */
    void remove(TcpTransport transport) {
        if (!transport.isReady()) {
            return;
        }
        transport.markNotified();
        for (int i = delivering ? next : 0; i < count; i++) {
            if (ready[i] == transport) {
                ready[i] = null;
            }
        }
    }

    /**
     * Delivers the events of all queued transports and returns their number. A transport that is added during the
     * delivery waits for the next call. Otherwise two connections of this process that answer each other could keep the
     * loop here.
     */
    int deliver() {
        if (delivering || count == 0) {
            return 0;
        }
        delivering = true;
        next = 0;
        int told = 0;
        int end = count;
        try {
            while (next < end) {
                TcpTransport transport = ready[next];
                ready[next++] = null;
                if (transport != null) {
                    told++;
                    transport.deliver();
                }
            }
            return told;
        } finally {
            if (next < count) {
                // After an exception the remaining transports stay queued.
                System.arraycopy(ready, next, ready, 0, count - next);
                Arrays.fill(ready, count - next, count, null);
            }
            count -= next;
            delivering = false;
        }
    }
}
