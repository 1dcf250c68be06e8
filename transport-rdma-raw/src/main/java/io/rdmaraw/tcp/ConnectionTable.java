package io.rdmaraw.tcp;

import io.rdmaraw.tcp.segment.Segment;
import java.util.function.Consumer;

/**
 * Connections by 4-tuple: open addressing with linear probing and backward-shift deletion. A probe compares 32-bit
 * hashes, which lie side by side, before it reads a connection. The hash is keyed, so peers cannot aim for
 * collisions; IPv4 and IPv6 share the table.
 */
final class ConnectionTable {
    private static final int MIN_CAPACITY = 64;

    private final ConnectionHash hash;
    private int[] hashes = new int[MIN_CAPACITY];
    private TcpConnection[] slots = new TcpConnection[MIN_CAPACITY];
    private int size;

    ConnectionTable(long key0, long key1) {
        hash = new ConnectionHash(key0, key1);
    }

    int size() {
        return size;
    }

    int hash(long localHigh, long localLow, int localPort, long remoteHigh, long remoteLow, int remotePort) {
        return hash.hash(localHigh, localLow, localPort, remoteHigh, remoteLow, remotePort);
    }

    /** Returns the hash of the connection that a received segment is of. */
    int hash(Segment s) {
        return hash(s.destinationHigh, s.destinationLow, s.destinationPort, s.sourceHigh, s.sourceLow, s.sourcePort);
    }

    /** Returns the connection that a received segment is of, or null. */
    TcpConnection find(int hash, Segment s) {
        return find(hash, s.destinationHigh, s.destinationLow, s.destinationPort, s.sourceHigh, s.sourceLow,
                s.sourcePort);
    }

    TcpConnection find(int hash, long localHigh, long localLow, int localPort, long remoteHigh, long remoteLow,
            int remotePort) {
        int mask = slots.length - 1;
        for (int i = hash & mask; ; i = i + 1 & mask) {
            TcpConnection c = slots[i];
            if (c == null) {
                return null;
            }
            if (hashes[i] == hash && c.matches(localHigh, localLow, localPort, remoteHigh, remoteLow, remotePort)) {
                return c;
            }
        }
    }

    void add(TcpConnection c) {
        if (++size > slots.length / 2) {
            resize(slots.length * 2);
        }
        insert(c, c.hash);
    }

    private void insert(TcpConnection c, int hash) {
        int mask = slots.length - 1;
        int i = hash & mask;
        while (slots[i] != null) {
            i = i + 1 & mask;
        }
        slots[i] = c;
        hashes[i] = hash;
    }

    void remove(TcpConnection c) {
        int mask = slots.length - 1;
        int i = c.hash & mask;
        while (slots[i] != c) {
            if (slots[i] == null) {
                return;
            }
            i = i + 1 & mask;
        }
        // Close the gap: move back whatever would no longer be found.
        int gap = i;
        for (int j = i + 1 & mask; slots[j] != null; j = j + 1 & mask) {
            if ((j - (hashes[j] & mask) & mask) >= (j - gap & mask)) {
                slots[gap] = slots[j];
                hashes[gap] = hashes[j];
                gap = j;
            }
        }
        slots[gap] = null;
        if (--size < slots.length / 8 && slots.length > MIN_CAPACITY) {
            resize(slots.length / 2);
        }
    }

    private void resize(int capacity) {
        TcpConnection[] oldSlots = slots;
        int[] oldHashes = hashes;
        slots = new TcpConnection[capacity];
        hashes = new int[capacity];
        for (int i = 0; i < oldSlots.length; i++) {
            if (oldSlots[i] != null) {
                insert(oldSlots[i], oldHashes[i]);
            }
        }
    }

    /** Shows so many connections at most, in no order. */
    void first(int most, Consumer<TcpConnection> viewer) {
        int seen = 0;
        for (int i = 0; i < slots.length && seen < most; i++) {
            if (slots[i] != null) {
                viewer.accept(slots[i]);
                seen++;
            }
        }
    }

    /** All connections, in no order. */
    TcpConnection[] snapshot() {
        TcpConnection[] all = new TcpConnection[size];
        int n = 0;
        for (TcpConnection c : slots) {
            if (c != null) {
                all[n++] = c;
            }
        }
        return all;
    }
}
