package io.rdmaraw.tcp;

/**
 * Accounts for the received data that all connections of an engine hold: unread data and data out of order. Each
 * connection has its own limits; this class limits the sum (as Linux's tcp_mem).
 *
 * <ul>
 * <li>From 3/4 of the limit, windows stop growing and shrink to an equal share.</li>
 * <li>From 7/8, out-of-order data is dropped from the connections that hold most of it. In-order data is accepted only
 *     for connections with less than an equal share unread.</li>
 * <li>From 15/16, in-order data is accepted only for connections without unread data.</li>
 * <li>At the limit, no data is accepted.</li>
 * </ul>
 */
final class ReceiveMemory {
    /** Number of connections examined when searching for the largest holder, oldest first. It bounds the cost. */
    private static final int SEARCHED = 16;
    /** Minimum share of a connection, so that every reader can make progress. */
    private static final int MIN_SHARE_BYTES = 16 * 1024;
    /** Number of unread pieces that a connection may always have. */
    private static final int MIN_PIECES = 256;

    private final TcpEngine engine;
    private final long limitBytes;
    private Reassembly oldest;
    private Reassembly newest;
    private long aheadBytes;
    /** Charge for the unread and out-of-order data of all connections. */
    private long heldBytes;
    private final long pressureBytes;
    /**
     * 7/8 of the limit. Beyond it, out-of-order data is not stored, and in-order data only for connections with less
     * than an equal share unread.
     */
    private final long sharedBytes;
    /** 15/16 of the limit. Beyond it, in-order data is accepted only for connections without unread data. */
    private final long reservedBytes;

    ReceiveMemory(TcpEngine engine) {
        this.engine = engine;
        limitBytes = engine.config.limits.maxReceiveBytes;
        pressureBytes = limitBytes - (limitBytes >> 2);
        sharedBytes = limitBytes - (limitBytes >> 3);
        reservedBytes = limitBytes - (limitBytes >> 4);
    }

    /** Returns the charge for out-of-order data, in bytes. */
    long aheadBytes() {
        return aheadBytes;
    }

    /** Returns the charge for in-order data that users of open connections have not read, in bytes. */
    long unreadBytes() {
        return heldBytes - aheadBytes;
    }

    /** Returns whether more than three quarters of the limit are in use. */
    boolean isUnderPressure() {
        return heldBytes > pressureBytes;
    }

    /** Returns the equal share of a connection in the limit, in bytes. */
    int shareBytes() {
        long share = limitBytes / Math.max(1, engine.connections.size());
        return Math.clamp(share, MIN_SHARE_BYTES, 1 << 30);
    }

    /** Returns the maximum number of unread bytes of a connection. Under pressure, this is at most its equal share. */
    int bufferBytes(TcpConnection c) {
        return isUnderPressure() ? Math.min(c.receiveBufferBytes, shareBytes()) : c.receiveBufferBytes;
    }

    /** Returns the charge for a connection's unread data, including the overhead per piece. */
    static long chargedUnread(TcpConnection c) {
        return c.unreadBytes + (long) c.unreadPieces * Reassembly.OVERHEAD_BYTES;
    }

    /**
     * Returns whether a connection may accept more data. {@link #makeRoom} may still reject out-of-order data. Beyond
     * {@link #limitBytes} nothing is accepted, so that at most one segment exceeds it. The last eighth of the limit is
     * reserved for connections with little or no unread data.
     */
    boolean mayAccept(TcpConnection c) {
        if (c.unreadBytes > c.receiveBufferBytes + (1 << c.rcvWndShift)) {
            // The reader has fallen behind by more than was ever advertised, except for rounding.
            return false;
        }
        if (c.unreadPieces >= MIN_PIECES) {
            return heldBytes <= sharedBytes && c.unreadPieces <= maxPieces(c);
        }
        return heldBytes <= sharedBytes || heldBytes <= reservedBytes && c.unreadBytes < shareBytes()
                || heldBytes <= limitBytes && c.unreadBytes == 0;
    }

    /**
     * Returns the maximum number of unread pieces. The overhead of tiny pieces is limited to four times the
     * receive buffer.
     */
    private static int maxPieces(TcpConnection c) {
        return c.receiveBufferBytes / (Reassembly.OVERHEAD_BYTES / 4);
    }

    void deliver(TcpConnection c, int bytes) {
        c.unreadBytes += bytes;
        c.unreadPieces++;
        heldBytes += bytes + Reassembly.OVERHEAD_BYTES;
    }

    /**
     * Subtracts bytes that were read. The number of pieces read is unknown and is estimated in proportion to the
     * bytes.
     */
    void read(TcpConnection c, int bytes) {
        int before = c.unreadPieces;
        int left = c.unreadBytes - bytes;
        c.unreadPieces = left == 0 ? 0 : (int) Math.ceilDiv((long) before * left, c.unreadBytes);
        c.unreadBytes = left;
        heldBytes -= bytes + (long) (before - c.unreadPieces) * Reassembly.OVERHEAD_BYTES;
    }

    /** Returns an empty reassembly queue for a connection. */
    Reassembly take(TcpConnection c) {
        Reassembly r = engine.pools.acquireReassembly();
        join(c, r);
        return r;
    }

    /** Takes back an empty reassembly queue. */
    void recycle(Reassembly r) {
        leave(r);
        engine.pools.recycle(r);
    }

    /** Drops the out-of-order data of a connection, if any. */
    void dropReassembly(TcpConnection c) {
        Reassembly held = c.reassembly;
        if (held != null) {
            c.reassembly = null;
            held.release();
            recycle(held);
        }
    }

    /** Records that two unread pieces were merged. */
    void join(TcpConnection c) {
        if (c.unreadPieces > 1) {
            c.unreadPieces--;
            heldBytes -= Reassembly.OVERHEAD_BYTES;
        }
    }

    /** Adds the unread data of a connection that moves here from another engine. */
    void adopt(TcpConnection c) {
        heldBytes += chargedUnread(c);
    }

    /** Subtracts the unread data of a connection that ends or moves to another engine. */
    void release(TcpConnection c) {
        heldBytes -= chargedUnread(c);
    }

    // ---- data out of order ----

    /** Adds the reassembly queue of a connection, a new one or one from another engine. */
    void join(TcpConnection c, Reassembly held) {
        held.owner = c;
        held.older = newest;
        held.newer = null;
        if (newest == null) {
            oldest = held;
        } else {
            newest.newer = held;
        }
        newest = held;
        count(held);
    }

    /** Updates the sums after a reassembly queue has changed. */
    void count(Reassembly held) {
        int change = held.chargedBytes() - held.countedBytes;
        aheadBytes += change;
        heldBytes += change;
        held.countedBytes = held.chargedBytes();
    }

    void leave(Reassembly held) {
        aheadBytes -= held.countedBytes;
        heldBytes -= held.countedBytes;
        held.countedBytes = 0;
        if (held.older == null) {
            oldest = held.newer;
        } else {
            held.older.newer = held.newer;
        }
        if (held.newer == null) {
            newest = held.older;
        } else {
            held.newer.older = held.older;
        }
        held.older = null;
        held.newer = null;
        held.owner = null;
    }

    /**
     * Makes room for out-of-order data by dropping the queues of the connections that hold most (as Linux's
     * tcp_prune_ofo_queue). Their data was only SACKed, so the peers retransmit it (RFC 2018 section 8).
     *
     * @return false if {@code held} itself is the largest of those examined
     */
    boolean makeRoom(Reassembly held, int bytes) {
        while (heldBytes + bytes > sharedBytes) {
            Reassembly largest = largest();
            if (largest == null || largest.chargedBytes() <= held.chargedBytes() + bytes) {
                turn();
                return false;
            }
            TcpConnection owner = largest.owner;
            engine.counters.outOfOrderPrunes++;
            owner.reassembly = null;
            largest.release();
            recycle(largest);
        }
        return true;
    }

    private Reassembly largest() {
        Reassembly largest = null;
        Reassembly at = oldest;
        for (int i = 0; i < SEARCHED && at != null; i++) {
            if (largest == null || at.chargedBytes() > largest.chargedBytes()) {
                largest = at;
            }
            at = at.newer;
        }
        if (largest != null && largest != newest) {
            // Move the examined queues to the end, so that the next search examines others.
            for (int i = 0; i < SEARCHED && oldest != largest && oldest != newest; i++) {
                rotate();
            }
        }
        return largest;
    }

    /** Moves the queues that were examined without success to the end. */
    private void turn() {
        for (int i = 0; i < SEARCHED && oldest != newest; i++) {
            rotate();
        }
    }

    private void rotate() {
        Reassembly moved = oldest;
        oldest = moved.newer;
        oldest.older = null;
        moved.newer = null;
        moved.older = newest;
        newest.newer = moved;
        newest = moved;
    }

    /**
     * Copies out-of-order data and releases the receive buffers that hold it.
     *
     * @param maxPieces maximum number of pieces to copy
     */
    int copyOut(int maxPieces) {
        int copied = 0;
        Reassembly at = oldest;
        for (int i = 0; i < SEARCHED && at != null && copied < maxPieces; i++) {
            copied += at.copyOut(maxPieces - copied);
            count(at);
            at = at.newer;
        }
        if (copied == 0) {
            turn();
        }
        engine.counters.outOfOrderCopies += copied;
        return copied;
    }
}
