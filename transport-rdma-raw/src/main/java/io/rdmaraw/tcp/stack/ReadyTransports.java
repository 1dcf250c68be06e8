package io.rdmaraw.tcp.stack;

import java.util.Arrays;

/** The transports that something happened to since their channels were last told. For the loop's thread. */
final class ReadyTransports {
    private TcpTransport[] ready = new TcpTransport[16];
    private int count;
    private int next;
    private boolean delivering;

    boolean isEmpty() {
        return count == 0;
    }

    /** Tells whether a transport hands on what came in right now, and others wait behind it. */
    boolean hasMore() {
        return delivering && next < count;
    }

    /** Has the transport hand on what came in before the loop waits. */
    void add(TcpTransport transport) {
        if (!transport.markReady()) {
            return;
        }
        if (count == ready.length) {
            ready = Arrays.copyOf(ready, 2 * count);
        }
        ready[count++] = transport;
    }

    /** The transport is told nothing more here: it leaves for another loop, which looks at it when it has arrived. */
    void remove(TcpTransport transport) {
        if (!transport.isReady()) {
            return;
        }
        transport.markTold();
        for (int i = delivering ? next : 0; i < count; i++) {
            if (ready[i] == transport) {
                ready[i] = null;
            }
        }
    }

    /** Has all transports hand on what came in, those that are added meanwhile too; returns how many that were. */
    int deliver() {
        if (delivering || count == 0) {
            return 0;
        }
        delivering = true;
        next = 0;
        int told = 0;
        try {
            while (next < count) {
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
                // After an exception: the rest is told the next time.
                System.arraycopy(ready, next, ready, 0, count - next);
                Arrays.fill(ready, count - next, count, null);
            }
            count -= next;
            delivering = false;
        }
    }
}
