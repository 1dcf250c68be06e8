package io.rdmaraw.tcp;

/**
 * What all connections of an engine hold of received data together: what their users have not read, and what came ahead
 * of its turn. Each has bounds of its own; but they may be many, so their sum has one too (tcp_mem of Linux). Near it,
 * windows stop growing and shrink to a fair share; at it, data that came ahead is dropped again where most of it is,
 * and in order only those get more that have less than their share.
 */
final class ReceiveMemory {
    /** Of the holders, those looked at for the largest: a bounded search, the oldest first. */
    private static final int SEARCHED = 16;
    /** A window that stays, so that a reader gets on whatever others hold. */
    private static final int LEAST_SHARE_BYTES = 16 * 1024;
    /** Pieces that a connection may have unread in any case. */
    private static final int LEAST_PIECES = 256;

    private final TcpEngine engine;
    private final long limitBytes;
    private Reassembly oldest;
    private Reassembly newest;
    private long aheadBytes;
    /** All of it. */
    private long heldBytes;
    private final long pressureBytes;

    ReceiveMemory(TcpEngine engine) {
        this.engine = engine;
        limitBytes = engine.config.limits.maxReceiveBytes;
        pressureBytes = limitBytes - (limitBytes >> 2);
    }

    /** Held out of order, as charged. */
    long aheadBytes() {
        return aheadBytes;
    }

    /** In order, not read by the users of connections that are open. */
    long unreadBytes() {
        return heldBytes - aheadBytes;
    }

    /** Whether more than three quarters are used. */
    boolean isUnderPressure() {
        return heldBytes > pressureBytes;
    }

    /** What one connection may hold while memory is short. */
    int shareBytes() {
        long share = limitBytes / Math.max(1, engine.connections.size());
        return Math.clamp(share, LEAST_SHARE_BYTES, 1 << 30);
    }

    /** What a connection's user may leave unread. */
    int bufferBytes(TcpConnection c) {
        return isUnderPressure() ? Math.min(c.receiveBufferBytes, shareBytes()) : c.receiveBufferBytes;
    }

    /** What a connection's user has not read, with what each piece takes besides its bytes. */
    static long chargedUnread(TcpConnection c) {
        return c.unreadBytes + (long) c.unreadPieces * Reassembly.OVERHEAD_BYTES;
    }

    /** Whether data can be taken; data ahead of its turn may still find no room. */
    boolean takes(TcpConnection c) {
        if (c.unreadBytes > c.receiveBufferBytes + (1 << c.rcvWndShift)) {
            // The reader is behind by more than was ever offered, but for rounding.
            return false;
        }
        if (c.unreadPieces < LEAST_PIECES) {
            return heldBytes <= limitBytes || c.unreadBytes < shareBytes();
        }
        return heldBytes <= limitBytes && c.unreadPieces <= mostPieces(c);
    }

    /** Many tiny pieces take more than what they bring: four times the buffer that the window stands for is enough. */
    private static int mostPieces(TcpConnection c) {
        return c.receiveBufferBytes / (Reassembly.OVERHEAD_BYTES / 4);
    }

    void deliver(TcpConnection c, int bytes) {
        c.unreadBytes += bytes;
        c.unreadPieces++;
        heldBytes += bytes + Reassembly.OVERHEAD_BYTES;
    }

    /** The number of pieces that were read is not known: it is taken in proportion to the bytes. */
    void read(TcpConnection c, int bytes) {
        int before = c.unreadPieces;
        int left = c.unreadBytes - bytes;
        c.unreadPieces = left == 0 ? 0 : (int) Math.ceilDiv((long) before * left, c.unreadBytes);
        c.unreadBytes = left;
        heldBytes -= bytes + (long) (before - c.unreadPieces) * Reassembly.OVERHEAD_BYTES;
    }

    /** Returns what keeps a connection's data that has come ahead of its turn. */
    Reassembly take(TcpConnection c) {
        Reassembly r = engine.pools.takeReassembly();
        join(c, r);
        return r;
    }

    /** Takes back what is empty. */
    void give(Reassembly r) {
        leave(r);
        engine.pools.give(r);
    }

    /** Drops what a connection has out of order, if there is anything. */
    void dropReassembly(TcpConnection c) {
        Reassembly held = c.reassembly;
        if (held != null) {
            c.reassembly = null;
            held.release();
            give(held);
        }
    }

    /** Two of the unread pieces are one now. */
    void join(TcpConnection c) {
        if (c.unreadPieces > 1) {
            c.unreadPieces--;
            heldBytes -= Reassembly.OVERHEAD_BYTES;
        }
    }

    /** A connection with what its user has not read comes from another engine. */
    void adopt(TcpConnection c) {
        heldBytes += chargedUnread(c);
    }

    /** It goes to another engine, or is over: unread data is not the engine's any more. */
    void release(TcpConnection c) {
        heldBytes -= chargedUnread(c);
    }

    // ---- data that came ahead ----

    /** A connection has begun, or comes from another engine. */
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

    /** Takes in what has changed of it. */
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
     * Makes room for more out of order, at the cost of those who hold most of it (tcp_prune_ofo_queue of Linux): that
     * was reported by SACK, and comes again (RFC 2018 section 8).
     *
     * @return false if {@code held} itself holds most
     */
    boolean makeRoom(Reassembly held, int bytes) {
        while (heldBytes + bytes > limitBytes) {
            Reassembly largest = largest();
            if (largest == null || largest.chargedBytes() <= held.chargedBytes() + bytes) {
                turn();
                return false;
            }
            TcpConnection owner = largest.owner;
            engine.counters.outOfOrderPrunes++;
            owner.reassembly = null;
            largest.release();
            give(largest);
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
            // What was looked at goes behind, so that the next search looks at others too.
            for (int i = 0; i < SEARCHED && oldest != largest && oldest != newest; i++) {
                rotate();
            }
        }
        return largest;
    }

    /** Connections that were checked without success go to the end. */
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
     * Gives back buffers that segments came in, where their data is held out of order, by copying it.
     *
     * @param most pieces that are copied
     */
    int copyOut(int most) {
        int copied = 0;
        Reassembly at = oldest;
        for (int i = 0; i < SEARCHED && at != null && copied < most; i++) {
            copied += at.copyOut(most - copied);
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
