package io.rdmaraw.tcp.stack;

import java.util.Arrays;

/** The transports with events that have not been delivered to their channels yet. Used on the loop's thread only. */
final class ReadyTransports {
    private TcpTransport[] ready = new TcpTransport[16];
    private int count;
    private int nextIndex;
    private boolean delivering;

    boolean isEmpty() {
        return count == 0;
    }

    /** Returns whether a delivery is in progress and more transports wait behind the present one. */
    boolean hasMore() {
        return delivering && nextIndex < count;
    }

    /** Adds a transport, unless it is already queued. */
    void add(TcpTransport transport) {
        if (!transport.markQueued()) {
            return;
        }
        if (count == ready.length) {
            ready = Arrays.copyOf(ready, 2 * count);
        }
        ready[count++] = transport;
    }

    /** Removes a transport that moves to another loop. That loop delivers its events when it arrives. */
    void remove(TcpTransport transport) {
        if (!transport.isQueuedForDelivery()) {
            return;
        }
        transport.unmarkQueued();
        for (int i = delivering ? nextIndex : 0; i < count; i++) {
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
        nextIndex = 0;
        int delivered = 0;
        int end = count;
        try {
            while (nextIndex < end) {
                TcpTransport transport = ready[nextIndex];
                ready[nextIndex++] = null;
                if (transport != null) {
                    delivered++;
                    transport.deliver();
                }
            }
            return delivered;
        } finally {
            if (nextIndex < count) {
                // After an exception the remaining transports stay queued.
                System.arraycopy(ready, nextIndex, ready, 0, count - nextIndex);
                Arrays.fill(ready, count - nextIndex, count, null);
            }
            count -= nextIndex;
            delivering = false;
        }
    }
}
