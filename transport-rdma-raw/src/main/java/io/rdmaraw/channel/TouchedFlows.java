package io.rdmaraw.channel;

import java.util.Arrays;

/** The flows that something happened to since their channels were last told. For the loop's thread. */
final class TouchedFlows {
    private TcpFlow[] touched = new TcpFlow[16];
    private int count;
    private int next;
    private boolean delivering;

    boolean isEmpty() {
        return count == 0;
    }

    /** Tells whether a flow hands on what came in right now, and others wait behind it. */
    boolean hasMore() {
        return delivering && next < count;
    }

    /** Has the flow hand on what came in before the loop waits. */
    void add(TcpFlow flow) {
        if (!flow.markTouched()) {
            return;
        }
        if (count == touched.length) {
            touched = Arrays.copyOf(touched, 2 * count);
        }
        touched[count++] = flow;
    }

    /** Has all flows hand on what came in, those that are added meanwhile too. */
    void deliver() {
        if (delivering) {
            return;
        }
        delivering = true;
        next = 0;
        try {
            while (next < count) {
                TcpFlow flow = touched[next];
                touched[next++] = null;
                flow.deliver();
            }
        } finally {
            // After an exception the rest is told the next time.
            System.arraycopy(touched, next, touched, 0, count - next);
            Arrays.fill(touched, count - next, count, null);
            count -= next;
            delivering = false;
        }
    }
}
