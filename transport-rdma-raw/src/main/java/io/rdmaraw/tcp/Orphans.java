package io.rdmaraw.tcp;

/**
 * The connections that their users have closed and that still wait for their peers. No user would notice how many
 * they are, how much they hold, or that a peer keeps its window shut and answers each probe: so the engine sees to it,
 * as Linux does (tcp_max_orphans, tcp_orphan_retries). Kept in the order of the peers' last progress.
 */
final class Orphans {
    /** What a closed connection needs besides. */
    static final class Entry {
        private final TcpConnection connection;
        /** Since when the peer has acknowledged nothing; at first, since when the user has closed. */
        long sinceNanos = Tcb.FROM_NOW;
        private int queuedBytes;
        private Entry older;
        private Entry newer;

        private Entry(TcpConnection connection) {
            this.connection = connection;
        }
    }

    private final TcpConfig config;
    private final TcpCounters counters;
    private Entry oldest;
    private Entry newest;
    private int count;
    private long queuedBytes;

    Orphans(TcpConfig config, TcpCounters counters) {
        this.config = config;
        this.counters = counters;
    }

    int count() {
        return count;
    }

    /** What they have queued. */
    long queuedBytes() {
        return queuedBytes;
    }

    /** The user has closed a connection that lives on. Those that have waited the longest may have to go for it. */
    void add(TcpConnection c) {
        c.orphan = new Entry(c);
        append(c);
        TcpLimits limits = config.limits;
        while (count > limits.maxOrphans || queuedBytes > limits.maxOrphanBytes) {
            counters.orphanOverflows++;
            TcpConnection pushedOut = (count > limits.maxOrphans ? oldest : oldestWithData()).connection;
            pushedOut.engine.abort(pushedOut, CloseReason.ABORTED);
        }
    }

    private Entry oldestWithData() {
        Entry entry = oldest;
        while (entry.queuedBytes == 0) {
            entry = entry.newer;
        }
        return entry;
    }

    /** Takes in a closed connection, its own or another engine's. */
    void append(TcpConnection c) {
        Entry entry = c.orphan;
        entry.queuedBytes = c.queuedBytes();
        queuedBytes += entry.queuedBytes;
        count++;
        link(entry);
    }

    private void link(Entry entry) {
        entry.older = newest;
        if (newest == null) {
            oldest = entry;
        } else {
            newest.newer = entry;
        }
        newest = entry;
    }

    /** The peer has acknowledged something new. */
    void onProgress(TcpConnection c, long now) {
        Entry entry = c.orphan;
        int left = c.queuedBytes();
        entry.sinceNanos = now;
        queuedBytes += left - entry.queuedBytes;
        entry.queuedBytes = left;
        if (entry != newest) {
            unlink(entry);
            link(entry);
        }
    }

    /** It is over, or goes to another engine. */
    void remove(TcpConnection c) {
        unlink(c.orphan);
        count--;
        queuedBytes -= c.orphan.queuedBytes;
    }

    private void unlink(Entry entry) {
        if (entry.older == null) {
            oldest = entry.newer;
        } else {
            entry.older.newer = entry.newer;
        }
        if (entry.newer == null) {
            newest = entry.older;
        } else {
            entry.newer.older = entry.older;
        }
        entry.older = null;
        entry.newer = null;
    }

    /**
     * When a closed connection whose peer takes nothing ends, whatever the peer answers; NEVER if it has nothing to
     * send. That is when the probes of a closed window have been repeated as often as {@code orphanRetries} says and
     * their interval has grown to its bound (tcp_probe_timer of Linux).
     */
    static long deadline(TcpConnection c) {
        Entry entry = c.orphan;
        if (entry == null || entry.sinceNanos == Tcb.FROM_NOW || !c.isSending()) {
            return Tcb.NEVER;
        }
        TcpConfig config = c.engine.config;
        long interval = Math.min(c.rtoNanos, config.maxRtoNanos);
        long total = 0;
        for (int probes = 0; probes < config.orphanRetries || interval < config.maxRtoNanos; probes++) {
            total += interval;
            interval = Math.min(2 * interval, config.maxRtoNanos);
        }
        return entry.sinceNanos + total;
    }
}
