package io.rdmaraw.tcp;

/**
 * Connections that the user has closed but that still wait for the peer. The engine limits their number, the data they
 * hold, and the lifetime of a connection if the peer answers probes but keeps its window closed. Linux does so with
 * tcp_max_orphans and tcp_orphan_retries. The list is ordered by the peers' last progress.
 */
final class Orphans {
    /** Additional state of a closed connection. */
    static final class Entry {
        private final TcpConnection connection;
        /** Time of the peer's last progress; before that, the time of the close. */
        long lastProgressNanos = Tcb.FROM_NOW;
        private int queuedBytes;
        private Entry older;
        private Entry newer;

        private Entry(TcpConnection connection) {
            this.connection = connection;
        }

        private boolean isUndelivered() {
            return connection.state != TcpState.FIN_WAIT_2;
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

    /** Returns the bytes that all closed connections have queued. */
    long queuedBytes() {
        return queuedBytes;
    }

    /**
     * Returns whether some peer has not acknowledged all data and the FIN yet. Connections in FIN-WAIT-2 have
     * delivered everything and do not count.
     */
    boolean hasUndelivered() {
        for (Entry entry = oldest; entry != null; entry = entry.newer) {
            if (entry.isUndelivered()) {
                return true;
            }
        }
        return false;
    }

    /** Returns the number of connections that have not delivered everything. */
    int undeliveredCount() {
        int undelivered = 0;
        for (Entry entry = oldest; entry != null; entry = entry.newer) {
            undelivered += entry.isUndelivered() ? 1 : 0;
        }
        return undelivered;
    }

    /**
     * Adds a connection that the user has closed. If a limit is exceeded, the connections without progress for
     * the longest time are aborted.
     */
    void add(TcpConnection c) {
        c.orphan = new Entry(c);
        append(c);
        TcpLimits limits = config.limits;
        while (count > limits.maxOrphans || queuedBytes > limits.maxOrphanBytes) {
            counters.orphanOverflows++;
            TcpConnection evicted = (count > limits.maxOrphans ? oldest : oldestWithData()).connection;
            evicted.engine.abort(evicted, CloseReason.ABORTED);
        }
    }

    private Entry oldestWithData() {
        Entry entry = oldest;
        while (entry.queuedBytes == 0) {
            entry = entry.newer;
        }
        return entry;
    }

    /** Appends a closed connection of this engine or of another one, without checking the limits. */
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

    /** Handles new data being acknowledged. */
    void onProgress(TcpConnection c, long now) {
        Entry entry = c.orphan;
        int left = c.queuedBytes();
        entry.lastProgressNanos = now;
        queuedBytes += left - entry.queuedBytes;
        entry.queuedBytes = left;
        if (entry != newest) {
            unlink(entry);
            link(entry);
        }
    }

    /** Removes a connection that has ended or moves to another engine. */
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
     * Returns the time at which a closed connection ends if the peer acknowledges no data, even if it answers
     * probes. Returns {@link Tcb#NEVER} if there is nothing to send. The time allows for {@code orphanRetries}
     * probes of a closed window, or more until the interval has reached its maximum (as Linux's tcp_probe_timer).
     */
    static long deadline(TcpConnection c) {
        Entry entry = c.orphan;
        if (entry == null || entry.lastProgressNanos == Tcb.FROM_NOW || !c.isSending()) {
            return Tcb.NEVER;
        }
        TcpConfig config = c.engine.config;
        long interval = Math.min(c.rtoNanos, config.maxRtoNanos);
        long total = 0;
        for (int probes = 0; probes < config.orphanRetries || interval < config.maxRtoNanos; probes++) {
            total += interval;
            interval = Math.min(2 * interval, config.maxRtoNanos);
        }
        return entry.lastProgressNanos + total;
    }
}
