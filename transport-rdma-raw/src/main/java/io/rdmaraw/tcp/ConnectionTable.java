package io.rdmaraw.tcp;

import io.rdmaraw.tcp.segment.Segment;
import java.util.function.Consumer;

/**
 * Connections by 4-tuple, IPv4 and IPv6. Open addressing with linear probing and backward-shift deletion. A
 * lookup compares 32-bit hashes, which are adjacent in memory, before it accesses a connection. The hash is
 * keyed, so peers cannot provoke collisions.
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

    /** Returns the hash of the connection that a received segment belongs to. */
    int hash(Segment s) {
        return hash(s.destinationHigh, s.destinationLow, s.destinationPort, s.sourceHigh, s.sourceLow, s.sourcePort);
    }

    /** Returns the connection that a received segment belongs to, or null. */
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
        // Close the gap: move back every entry that a lookup would no longer find.
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

    /** Passes up to {@code max} connections to {@code visitor}, in no particular order. */
    void forEachUpTo(int max, Consumer<TcpConnection> visitor) {
        int visited = 0;
        for (int i = 0; i < slots.length && visited < max; i++) {
            if (slots[i] != null) {
                visitor.accept(slots[i]);
                visited++;
            }
        }
    }

    /** Returns all connections, in no particular order. */
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
