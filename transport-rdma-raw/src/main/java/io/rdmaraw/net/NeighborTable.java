package io.rdmaraw.net;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/**
 * The next hops of a loop: their MAC addresses, the packets that wait for resolution, and the times of retries.
 *
 * <p>The table requests resolution through a {@link Solicitor}, which sends ARP or neighbour discovery or lets
 * the kernel do so. The result is reported by {@link #learned} or {@link #failed}. A resolved address remains
 * valid while in use, until the hop is reported failed: a busy hop may not answer a confirmation.
 *
 * <p>Peers can cause packets to any number of non-existent hops. Therefore the numbers of waiting packets and
 * of unresolved hops are limited, and the oldest are discarded first. If the table has the maximum number of
 * resolved and unresolved hops, packets to further hops are discarded until hops become unused.
 *
 * <p>Never reads the clock; callers pass the current time in nanoseconds. Not thread-safe.
 *
 * @param <P> type of the waiting packets
 */
public final class NeighborTable<P> {
    /**
     * When the table is full, a hop with fewer waiting packets than this displaces packets of other hops. A hop
     * with at least as many displaces its own.
     */
    private static final int FAIR_SHARE_PACKETS = 3;
    /**
     * Number of requests for an unresolved hop, and their interval (RFC 4861: MAX_UNICAST_SOLICIT,
     * RETRANS_TIMER).
     */
    static final int MAX_ATTEMPTS = 3;
    public static final long RETRY_NANOS = TimeUnit.SECONDS.toNanos(1);
    /**
     * Interval at which a hop in use is confirmed. The kernel does not see our traffic and would consider the
     * entry stale.
     */
    static final long REFRESH_NANOS = TimeUnit.SECONDS.toNanos(30);
    /** Time after which an unused hop is removed. */
    static final long IDLE_NANOS = TimeUnit.MINUTES.toNanos(5);
    /** Maximum number of unresolved hops, as in Linux (gc_thresh3). Beyond it the oldest is removed. */
    static final int MAX_UNRESOLVED = 1024;
    private static final int MAX_HOPS = 65536;

    /** Requests the resolution of addresses. */
    public interface Solicitor {
        /**
         * Requests the MAC address of a hop. A result is reported later through {@link NeighborTable#learned}.
         *
         * @return the host's present entry of the hop, or null. It is no answer to this request
         */
        Neighbor solicit(int linkIndex, IpAddress hop);
    }

    /** Receives packets that have waited. */
    public interface PacketSink<P> {
        /** Called when the hop is resolved: the packet can be sent. */
        void send(P packet, long mac);

        /**
         * Called when the packet is discarded: the hop does not answer, newer packets displace it, the table is
         * full of hops, or it closes.
         */
        void discard(P packet);
    }

    private record Key(int linkIndex, IpAddress hop) {
    }

    /** Marks a hop as in use, for senders that cache its MAC address. */
    public static final class Use {
        private boolean used;

        private Use() {
        }

        /** Reports that a packet is sent to the hop. */
        public void touch() {
            used = true;
        }
    }

    private static final class Entry<P> {
        private final Key key;
        private final Use use = new Use();
        private final ArrayDeque<Waiting<P>> waiting = new ArrayDeque<>(4);
        private long mac = Neighbor.NO_MAC;
        /** The host's entry at the last request. */
        private Neighbor beforeRequestOrNull;
        private int attempts;
        private long solicitedNanos;
        private long usedNanos;

        private Entry(Key key) {
            this.key = key;
        }
    }

    /** A waiting packet, also part of the list of all waiting packets. Instances are compared by identity. */
    private static final class Waiting<P> {
        private final Entry<P> entry;
        private final P packet;

        private Waiting(Entry<P> entry, P packet) {
            this.entry = entry;
            this.packet = packet;
        }
    }

    private final Solicitor solicitor;
    private final PacketSink<P> sink;
    private final int maxWaiting;
    private final int maxWaitingOfHop;
    private final Map<Key, Entry<P>> entries = new HashMap<>();
    /** All waiting packets, oldest first. */
    private final Set<Waiting<P>> waiting = new LinkedHashSet<>();
    /** The unresolved hops, oldest first. */
    private final Set<Entry<P>> unresolved = new LinkedHashSet<>();
    private long displaced;

    /**
     * Creates an empty table.
     *
     * @param maxWaiting maximum number of waiting packets. Half of them may be for one hop, since a gateway is
     *                   the hop of many peers. The oldest packet is discarded, as RFC 1122 section 2.3.2.2
     *                   demands that the latest be kept
     */
    public NeighborTable(Solicitor solicitor, PacketSink<P> sink, int maxWaiting) {
        this.solicitor = solicitor;
        this.sink = sink;
        maxWaitingOfHop = Math.max(1, maxWaiting / 2);
        this.maxWaiting = maxWaiting;
    }

    /**
     * Returns the MAC address of a hop and marks the hop as in use. Returns {@link Neighbor#NO_MAC} if it is
     * unknown; the caller should then call {@link #sendWhenResolved} with the packet.
     */
    public long macOf(int linkIndex, IpAddress hop, long nowNanos) {
        Entry<P> entry = entries.get(new Key(linkIndex, hop));
        if (entry == null) {
            return Neighbor.NO_MAC;
        }
        entry.usedNanos = nowNanos;
        return entry.mac;
    }

    /** Adds a hop with a MAC address from another source. The address must be confirmed while the hop is in use. */
    public Use addKnown(int linkIndex, IpAddress hop, long mac, long nowNanos) {
        Key key = new Key(linkIndex, hop);
        Entry<P> entry = entries.get(key);
        if (entry == null && entries.size() == MAX_HOPS) {
            return new Use();
        }
        if (entry == null) {
            entry = new Entry<>(key);
            entry.usedNanos = nowNanos;
            entry.solicitedNanos = nowNanos;
            entries.put(key, entry);
        }
        if (entry.mac != mac || entry.attempts > 0) {
            learned(linkIndex, hop, mac, nowNanos);
        }
        return entry.use;
    }

    /** Returns the use marker of a hop in the table, or null. */
    public Use useOf(int linkIndex, IpAddress hop) {
        Entry<P> entry = entries.get(new Key(linkIndex, hop));
        return entry == null ? null : entry.use;
    }

    /** Reports that the host has removed a hop's address, without a failure. The table requests it at once. */
    public void forgotten(int linkIndex, IpAddress hop, long nowNanos) {
        Entry<P> entry = entries.get(new Key(linkIndex, hop));
        if (entry != null && entry.mac != Neighbor.NO_MAC && entry.attempts == 0) {
            solicitEntry(entry, nowNanos);
        }
    }

    /**
     * Reports that packets to a hop seem to be lost. The table requests a confirmation at once, but at most one
     * per retry interval. The address stays valid until the hop is reported failed.
     */
    public void suspect(int linkIndex, IpAddress hop, long nowNanos) {
        Entry<P> entry = entries.get(new Key(linkIndex, hop));
        if (entry != null && entry.attempts == 0 && nowNanos - entry.solicitedNanos >= RETRY_NANOS) {
            solicitEntry(entry, nowNanos);
        }
    }

    /** Calls an action for every hop. The action may report results for them. */
    public void forEachHop(HopAction action) {
        for (Key key : List.copyOf(entries.keySet())) {
            action.on(key.linkIndex(), key.hop());
        }
    }

    /** An action for one hop. */
    public interface HopAction {
        /** Called for each hop. */
        void on(int linkIndex, IpAddress hop);
    }

    /** Queues a packet until its hop is resolved, and requests the resolution. */
    public void sendWhenResolved(int linkIndex, IpAddress hop, P packet, long nowNanos) {
        Entry<P> entry = entryToSolicit(linkIndex, hop);
        if (entry == null) {
            sink.discard(packet);
            return;
        }
        entry.usedNanos = nowNanos;
        boolean full = waiting.size() == maxWaiting;
        if (entry.waiting.size() == maxWaitingOfHop || full && entry.waiting.size() >= FAIR_SHARE_PACKETS) {
            discardOldest(entry);
        } else if (full) {
            displaced++;
            discardOldest(waiting.iterator().next().entry);
        }
        Waiting<P> last = new Waiting<>(entry, packet);
        entry.waiting.add(last);
        waiting.add(last);
        if (entry.attempts == 0) {
            solicitEntry(entry, nowNanos);
        }
    }

    /**
     * Requests the resolution of a hop for packets that are not queued, such as replies to peers that will
     * retry.
     */
    public void request(int linkIndex, IpAddress hop, long nowNanos) {
        Entry<P> entry = entryToSolicit(linkIndex, hop);
        if (entry != null) {
            entry.usedNanos = nowNanos;
            if (entry.attempts == 0) {
                solicitEntry(entry, nowNanos);
            }
        }
    }

    /** Returns the entry of a hop, or null if the table is full. */
    private Entry<P> entryToSolicit(int linkIndex, IpAddress hop) {
        Key key = new Key(linkIndex, hop);
        Entry<P> entry = entries.get(key);
        if (entry != null || entries.size() == MAX_HOPS) {
            return entry;
        }
        if (unresolved.size() == MAX_UNRESOLVED) {
            Entry<P> oldest = unresolved.iterator().next();
            displaced += oldest.waiting.size();
            entries.remove(oldest.key);
            forget(oldest);
        }
        entry = new Entry<>(key);
        entries.put(key, entry);
        unresolved.add(entry);
        return entry;
    }

    private void discardOldest(Entry<P> entry) {
        Waiting<P> oldest = entry.waiting.poll();
        waiting.remove(oldest);
        sink.discard(oldest.packet);
    }

    /** Discards the state of an entry that has been removed from the table. */
    private void forget(Entry<P> entry) {
        unresolved.remove(entry);
        while (!entry.waiting.isEmpty()) {
            discardOldest(entry);
        }
    }

    private void solicitEntry(Entry<P> entry, long nowNanos) {
        entry.attempts++;
        entry.solicitedNanos = nowNanos;
        entry.beforeRequestOrNull = solicitor.solicit(entry.key.linkIndex(), entry.key.hop());
    }

    /**
     * Reports that a link or its addresses have changed. The table requests the unresolved hops of the link at once:
     * the host may have been unable to solicit them, and it discards its own requests when a link goes down.
     */
    public void linkChanged(int linkIndex, long nowNanos) {
        for (Entry<P> entry : List.copyOf(unresolved)) {
            if (entry.key.linkIndex() == linkIndex) {
                entry.attempts = 0;
                solicitEntry(entry, nowNanos);
            }
        }
    }

    /** Reports the MAC address of a hop, or confirms it. Sends the packets that wait for it. */
    public void learned(int linkIndex, IpAddress hop, long mac, long nowNanos) {
        Entry<P> entry = entries.get(new Key(linkIndex, hop));
        if (entry == null) {
            return;
        }
        entry.mac = mac;
        entry.attempts = 0;
        entry.solicitedNanos = nowNanos;
        unresolved.remove(entry);
        while (!entry.waiting.isEmpty()) {
            Waiting<P> next = entry.waiting.poll();
            waiting.remove(next);
            sink.send(next.packet, mac);
        }
    }

    /**
     * Reports an entry of the host by which a hop does not answer. Removes the hop and discards its packets. An
     * unresolved hop remains if the host had this entry before the last request, because the kernel does not report
     * that it solicits a failed neighbour again.
     */
    public void failed(Neighbor failure) {
        Key key = new Key(failure.linkIndex(), failure.address());
        Entry<P> entry = entries.get(key);
        if (entry != null && (entry.mac != Neighbor.NO_MAC || !failure.equals(entry.beforeRequestOrNull))) {
            entries.remove(key);
            forget(entry);
        }
    }

    /** Repeats requests that are due, removes hops that do not answer, and removes unused hops. */
    public void poll(long nowNanos) {
        List<Entry<P>> toSolicit = new ArrayList<>();
        for (Iterator<Entry<P>> all = entries.values().iterator(); all.hasNext();) {
            Entry<P> entry = all.next();
            if (entry.use.used) {
                entry.use.used = false;
                entry.usedNanos = nowNanos;
            }
            if (nowNanos - dueNanos(entry) < 0) {
                continue;
            }
            if (hasNoAnswer(entry) || isIdle(entry, nowNanos)) {
                all.remove();
                forget(entry);
            } else {
                toSolicit.add(entry);
            }
        }
        // After the iteration, because a solicitor may report a result immediately, which changes the table.
        toSolicit.forEach(entry -> solicitEntry(entry, nowNanos));
    }

    private static boolean hasNoAnswer(Entry<?> entry) {
        return entry.mac == Neighbor.NO_MAC && entry.attempts >= MAX_ATTEMPTS;
    }

    private static boolean isIdle(Entry<?> entry, long nowNanos) {
        return entry.waiting.isEmpty() && nowNanos - entry.usedNanos >= IDLE_NANOS;
    }

    private static long dueNanos(Entry<?> entry) {
        if (entry.attempts > 0) {
            return entry.solicitedNanos + RETRY_NANOS;
        }
        boolean usedSince = entry.use.used || entry.usedNanos - entry.solicitedNanos > 0;
        return usedSince ? entry.solicitedNanos + REFRESH_NANOS : entry.usedNanos + IDLE_NANOS;
    }

    /** Returns the time of the next action of {@link #poll}, or Long.MAX_VALUE. */
    public long nextDeadlineNanos() {
        long next = Long.MAX_VALUE;
        for (Entry<P> entry : entries.values()) {
            next = Math.min(next, dueNanos(entry));
        }
        return next;
    }

    /** Returns the number of hops, resolved or not. */
    public int size() {
        return entries.size();
    }

    /** Returns the number of waiting packets. */
    public int waitingCount() {
        return waiting.size();
    }

    /**
     * Returns the number of packets displaced by packets to other hops, not by later ones to the same hop. May be
     * called on any thread; the value may then be slightly stale.
     */
    public long displacedCount() {
        return displaced;
    }

    /** Discards all waiting packets and removes all hops. */
    public void close() {
        entries.values().forEach(this::forget);
        entries.clear();
    }
}
