package io.rdmaraw.tcp;

/**
 * A hierarchical timer wheel with ticks of 2^20 ns (about 1 ms). A connection is filed once, under its earliest
 * deadline. If the deadline moves later, as it nearly always does, the connection stays where it is. It is filed
 * again when its old slot expires. Setting a timer on the hot path is therefore a single comparison.
 *
 * <p>Slots are heads of doubly linked lists of connections. Deadlines are rounded up to the next tick, so no
 * timer fires early.
 */
final class TimerWheel {
    static final int TICK_SHIFT = 20;
    private static final int SLOT_BITS = 6;
    private static final int SLOTS = 1 << SLOT_BITS;
    private static final int LEVELS = 6;
    private static final long MAX_TICKS = 1L << SLOT_BITS * LEVELS;

    private final TcpConnection[] heads = new TcpConnection[LEVELS * SLOTS];
    /** Bit i of word l is set if slot i of level l has entries. */
    private final long[] occupied = new long[LEVELS];
    private long currentTick;
    private int size;

    TimerWheel(long nowNanos) {
        currentTick = nowNanos >> TICK_SHIFT;
    }

    /** Files {@code c} so that it expires no later than at the tick of its deadline. */
    void schedule(TcpConnection c) {
        if (c.deadlineNanos >= c.wheelDeadlineNanos) {
            return;
        }
        if (c.wheelSlot >= 0) {
            unlink(c);
        }
        insert(c);
    }

    void cancel(TcpConnection c) {
        if (c.wheelSlot >= 0) {
            unlink(c);
        }
        c.wheelDeadlineNanos = Tcb.NEVER;
    }

    private void insert(TcpConnection c) {
        c.wheelDeadlineNanos = c.deadlineNanos;
        long tick = Math.max((c.deadlineNanos + (1L << TICK_SHIFT) - 1) >> TICK_SHIFT, currentTick + 1);
        // A deadline beyond the horizon (2 years) is filed in the last slot and filed again from there.
        tick = Math.min(tick, currentTick + MAX_TICKS - 1);
        // The level is given by the highest bit in which tick and currentTick differ; in that level the slot lies
        // ahead.
        int level = Math.min(LEVELS - 1, (63 - Long.numberOfLeadingZeros(tick ^ currentTick)) / SLOT_BITS);
        int slot = level * SLOTS + (int) (tick >> level * SLOT_BITS & SLOTS - 1);
        c.wheelSlot = slot;
        c.wheelPrevious = null;
        TcpConnection head = heads[slot];
        c.wheelNext = head;
        if (head != null) {
            head.wheelPrevious = c;
        }
        heads[slot] = c;
        occupied[level] |= 1L << slot;
        size++;
    }

    private void unlink(TcpConnection c) {
        if (c.wheelNext != null) {
            c.wheelNext.wheelPrevious = c.wheelPrevious;
        }
        if (c.wheelPrevious != null) {
            c.wheelPrevious.wheelNext = c.wheelNext;
        } else {
            heads[c.wheelSlot] = c.wheelNext;
            if (c.wheelNext == null) {
                occupied[c.wheelSlot >> SLOT_BITS] &= ~(1L << c.wheelSlot);
            }
        }
        c.wheelNext = null;
        c.wheelPrevious = null;
        c.wheelSlot = -1;
        size--;
    }

    /**
     * Returns the earliest time at which {@link #advance} has work, at or before the earliest deadline;
     * {@link Tcb#NEVER} if there is none.
     */
    long nextNanos() {
        for (int level = 0; level < LEVELS; level++) {
            if (occupied[level] != 0) {
                return nextTick(level) << TICK_SHIFT;
            }
        }
        return Tcb.NEVER;
    }

    /** Returns the first tick of the next occupied slot of a level. The level must have one. */
    private long nextTick(int level) {
        int shift = level * SLOT_BITS;
        long position = currentTick >> shift;
        int distance = Long.numberOfTrailingZeros(Long.rotateRight(occupied[level], (int) (position & SLOTS - 1)));
        // Only the last level wraps around. There, the slot at the current position lies a full turn ahead.
        return position + (distance == 0 ? SLOTS : distance) << shift;
    }

    /**
     * Advances the time to {@code nowNanos} and returns a connection that has expired, removed from the wheel.
     * Returns null if there are no more. Connections are filed again if their deadline has moved later.
     */
    TcpConnection advance(long nowNanos) {
        long target = nowNanos >> TICK_SHIFT;
        while (true) {
            int slot = (int) (currentTick & SLOTS - 1);
            for (TcpConnection c = heads[slot]; c != null; c = heads[slot]) {
                unlink(c);
                c.wheelDeadlineNanos = Tcb.NEVER;
                if (c.deadlineNanos <= nowNanos) {
                    return c;
                }
                schedule(c);
            }
            if (!step(target)) {
                return null;
            }
        }
    }

    /** Advances to the next tick with work, at most to {@code target}. Returns false if it is already reached. */
    private boolean step(long target) {
        if (currentTick >= target) {
            return false;
        }
        long next = target;
        for (int level = 0; level < LEVELS; level++) {
            if (occupied[level] != 0) {
                next = Math.min(target, nextTick(level));
                break;
            }
        }
        currentTick = next;
        for (int level = LEVELS - 1; level > 0; level--) {
            int slot = level * SLOTS + (int) (currentTick >> level * SLOT_BITS & SLOTS - 1);
            TcpConnection c = heads[slot];
            if (c == null) {
                continue;
            }
            // The current position has entered this slot, so its entries move to a lower level.
            heads[slot] = null;
            occupied[level] &= ~(1L << slot);
            while (c != null) {
                TcpConnection following = c.wheelNext;
                size--;
                refile(c);
                c = following;
            }
        }
        return true;
    }

    private void refile(TcpConnection c) {
        c.wheelNext = null;
        c.wheelPrevious = null;
        c.wheelSlot = -1;
        if (c.deadlineNanos == Tcb.NEVER) {
            c.wheelDeadlineNanos = Tcb.NEVER;
            return;
        }
        long tick = (c.deadlineNanos + (1L << TICK_SHIFT) - 1) >> TICK_SHIFT;
        if (tick > currentTick) {
            insert(c);
            return;
        }
        // The connection is due at the current tick: file it in the slot that advance() examines next.
        c.wheelDeadlineNanos = c.deadlineNanos;
        int slot = (int) (currentTick & SLOTS - 1);
        TcpConnection head = heads[slot];
        c.wheelSlot = slot;
        c.wheelNext = head;
        if (head != null) {
            head.wheelPrevious = c;
        }
        heads[slot] = c;
        occupied[0] |= 1L << slot;
        size++;
    }
}
