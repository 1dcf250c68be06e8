package io.rdmaraw.tcp;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;

/**
 * The listeners of an engine: a hash table with chains. A lookup tries the exact address first, then the wildcard
 * address 0, 0. The keys are chosen by local users and not by peers, so the hash needs no key.
 */
final class ListenerTable {
    private TcpListener[] heads = new TcpListener[16];
    private int size;
    /** Ports that have a listener on at least one address. */
    private final BitSet ports = new BitSet();

    void add(TcpListener listener) {
        if (exact(listener.localHigh, listener.localLow, listener.localPort) != null) {
            throw new IllegalStateException("Port " + listener.localPort
                    + " has a listener on this address already; close it first or choose another port");
        }
        if (size == heads.length) {
            grow();
        }
        link(listener);
        size++;
        ports.set(listener.localPort);
    }

    private void link(TcpListener listener) {
        int bucket = bucket(listener.localHigh, listener.localLow, listener.localPort);
        listener.nextInBucket = heads[bucket];
        heads[bucket] = listener;
    }

    private void grow() {
        TcpListener[] old = heads;
        heads = new TcpListener[2 * old.length];
        for (TcpListener head : old) {
            while (head != null) {
                TcpListener next = head.nextInBucket;
                link(head);
                head = next;
            }
        }
    }

    void remove(TcpListener listener) {
        int bucket = bucket(listener.localHigh, listener.localLow, listener.localPort);
        TcpListener before = null;
        for (TcpListener at = heads[bucket]; at != null; before = at, at = at.nextInBucket) {
            if (at == listener) {
                if (before == null) {
                    heads[bucket] = at.nextInBucket;
                } else {
                    before.nextInBucket = at.nextInBucket;
                }
                at.nextInBucket = null;
                size--;
                ports.set(listener.localPort, hasPort(listener.localPort));
                return;
            }
        }
    }

    private boolean hasPort(int port) {
        for (TcpListener head : heads) {
            for (TcpListener at = head; at != null; at = at.nextInBucket) {
                if (at.localPort == port) {
                    return true;
                }
            }
        }
        return false;
    }

    /** Returns the listener for an address and port, or null. */
    TcpListener find(long high, long low, int port) {
        TcpListener exact = exact(high, low, port);
        return exact != null ? exact : exact(0, 0, port);
    }

    /** Returns the listener on exactly this address, or null. */
    TcpListener exact(long high, long low, int port) {
        TcpListener at = heads[bucket(high, low, port)];
        while (at != null && !(at.localPort == port && at.localLow == low && at.localHigh == high)) {
            at = at.nextInBucket;
        }
        return at;
    }

    private int bucket(long high, long low, int port) {
        long mixed = (high * 31 + low + ((long) port << 32 | port)) * 0x9E37_79B9_7F4A_7C15L;
        return (int) (mixed >>> 40) & heads.length - 1;
    }

    /** Returns all listeners, in no particular order. */
    List<TcpListener> all() {
        List<TcpListener> all = new ArrayList<>(size);
        for (TcpListener head : heads) {
            for (TcpListener at = head; at != null; at = at.nextInBucket) {
                all.add(at);
            }
        }
        return all;
    }

    void closeAll() {
        for (int bucket = 0; bucket < heads.length; bucket++) {
            while (heads[bucket] != null) {
                heads[bucket].close();
            }
        }
    }

    boolean isListening(int port) {
        return ports.get(port);
    }
}
