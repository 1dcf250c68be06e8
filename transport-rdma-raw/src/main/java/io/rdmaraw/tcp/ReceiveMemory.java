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
    private static final int MAX_EXAMINED = 16;
    /** Minimum share of a connection, so that every reader can make progress. */
    private static final int MIN_SHARE_BYTES = 16 * 1024;
    /** Number of unread pieces that a connection may always have. */
    private static final int MIN_PIECES = 256;

    private final TcpEngine engine;
    private final long limitBytes;
    private Reassembly oldest;
    private Reassembly newest;
    private long outOfOrderBytes;
    /** Charge for the unread and out-of-order data of all connections. */
    private long heldBytes;
    private final long pressureThresholdBytes;
    /**
     * 7/8 of the limit. Beyond it, out-of-order data is not stored, and in-order data only for connections with less
     * than an equal share unread.
     */
    private final long fairShareThresholdBytes;
    /** 15/16 of the limit. Beyond it, in-order data is accepted only for connections without unread data. */
    private final long reservedThresholdBytes;

    ReceiveMemory(TcpEngine engine) {
        this.engine = engine;
        limitBytes = engine.config.limits.maxReceiveBytes;
        pressureThresholdBytes = limitBytes - (limitBytes >> 2);
        fairShareThresholdBytes = limitBytes - (limitBytes >> 3);
        reservedThresholdBytes = limitBytes - (limitBytes >> 4);
    }

    /** Returns the charge for out-of-order data, in bytes. */
    long outOfOrderBytes() {
        return outOfOrderBytes;
    }

    /** Returns the charge for in-order data that users of open connections have not read, in bytes. */
    long unreadBytes() {
        return heldBytes - outOfOrderBytes;
    }

    /** Returns whether more than three quarters of the limit are in use. */
    boolean isUnderPressure() {
        return heldBytes > pressureThresholdBytes;
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
            return heldBytes <= fairShareThresholdBytes && c.unreadPieces <= maxPieces(c);
        }
        return heldBytes <= fairShareThresholdBytes
                || heldBytes <= reservedThresholdBytes && c.unreadBytes < shareBytes()
                || heldBytes <= limitBytes && c.unreadBytes == 0;
    }

    /**
     * Returns the maximum number of unread pieces. The overhead of tiny pieces is limited to four times the
     * receive buffer.
     */
    private static int maxPieces(TcpConnection c) {
        return c.receiveBufferBytes / (Reassembly.OVERHEAD_BYTES / 4);
    }

    void addUnread(TcpConnection c, int bytes) {
        c.unreadBytes += bytes;
        c.unreadPieces++;
        heldBytes += bytes + Reassembly.OVERHEAD_BYTES;
    }

    /**
     * Subtracts bytes that were read. The number of pieces read is unknown and is estimated in proportion to the
     * bytes.
     */
    void subtractRead(TcpConnection c, int bytes) {
        int before = c.unreadPieces;
        int left = c.unreadBytes - bytes;
        c.unreadPieces = left == 0 ? 0 : (int) Math.ceilDiv((long) before * left, c.unreadBytes);
        c.unreadBytes = left;
        heldBytes -= bytes + (long) (before - c.unreadPieces) * Reassembly.OVERHEAD_BYTES;
    }

    /** Returns an empty reassembly queue for a connection. */
    Reassembly acquireReassembly(TcpConnection c) {
        Reassembly r = engine.pools.acquireReassembly();
        addReassembly(c, r);
        return r;
    }

    /** Takes back an empty reassembly queue. */
    void releaseReassembly(Reassembly r) {
        removeReassembly(r);
        engine.pools.releaseReassembly(r);
    }

    /** Drops the out-of-order data of a connection, if any. */
    void dropReassembly(TcpConnection c) {
        Reassembly reassembly = c.reassembly;
        if (reassembly != null) {
            c.reassembly = null;
            reassembly.release();
            releaseReassembly(reassembly);
        }
    }

    /** Records that two unread pieces were merged. */
    void onPiecesMerged(TcpConnection c) {
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
    void addReassembly(TcpConnection c, Reassembly reassembly) {
        reassembly.owner = c;
        reassembly.older = newest;
        reassembly.newer = null;
        if (newest == null) {
            oldest = reassembly;
        } else {
            newest.newer = reassembly;
        }
        newest = reassembly;
        updateCharge(reassembly);
    }

    /** Updates the sums after a reassembly queue has changed. */
    void updateCharge(Reassembly reassembly) {
        int change = reassembly.chargedBytes() - reassembly.countedBytes;
        outOfOrderBytes += change;
        heldBytes += change;
        reassembly.countedBytes = reassembly.chargedBytes();
    }

    void removeReassembly(Reassembly reassembly) {
        outOfOrderBytes -= reassembly.countedBytes;
        heldBytes -= reassembly.countedBytes;
        reassembly.countedBytes = 0;
        if (reassembly.older == null) {
            oldest = reassembly.newer;
        } else {
            reassembly.older.newer = reassembly.newer;
        }
        if (reassembly.newer == null) {
            newest = reassembly.older;
        } else {
            reassembly.newer.older = reassembly.older;
        }
        reassembly.older = null;
        reassembly.newer = null;
        reassembly.owner = null;
    }

    /**
     * Makes room for out-of-order data by dropping the queues of the connections that hold most (as Linux's
     * tcp_prune_ofo_queue). Their data was only SACKed, so the peers retransmit it (RFC 2018 section 8).
     *
     * @return false if {@code reassembly} itself is the largest of those examined
     */
    boolean makeRoom(Reassembly reassembly, int bytes) {
        while (heldBytes + bytes > fairShareThresholdBytes) {
            Reassembly largest = selectLargest();
            if (largest == null || largest.chargedBytes() <= reassembly.chargedBytes() + bytes) {
                rotateExamined();
                return false;
            }
            TcpConnection owner = largest.owner;
            engine.counters.outOfOrderPrunes++;
            owner.reassembly = null;
            largest.release();
            releaseReassembly(largest);
        }
        return true;
    }

    private Reassembly selectLargest() {
        Reassembly largest = null;
        Reassembly at = oldest;
        for (int i = 0; i < MAX_EXAMINED && at != null; i++) {
            if (largest == null || at.chargedBytes() > largest.chargedBytes()) {
                largest = at;
            }
            at = at.newer;
        }
        if (largest != null && largest != newest) {
            // Move the examined queues to the end, so that the next search examines others.
            for (int i = 0; i < MAX_EXAMINED && oldest != largest && oldest != newest; i++) {
                rotate();
            }
        }
        return largest;
    }

    /** Moves the queues that were examined without success to the end. */
    private void rotateExamined() {
        for (int i = 0; i < MAX_EXAMINED && oldest != newest; i++) {
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
        for (int i = 0; i < MAX_EXAMINED && at != null && copied < maxPieces; i++) {
            copied += at.copyOut(maxPieces - copied);
            updateCharge(at);
            at = at.newer;
        }
        if (copied == 0) {
            rotateExamined();
        }
        engine.counters.outOfOrderCopies += copied;
        return copied;
    }
}
