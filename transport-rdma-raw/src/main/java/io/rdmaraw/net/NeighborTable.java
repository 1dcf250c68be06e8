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
 * The next hops that a loop sends to: their MAC addresses, packets that wait for one, and when to ask again. It asks
 * through a {@link Solicitor}, which sends ARP or neighbour discovery or has the kernel do it, and is told what was
 * learned. An address that was known stays good while it is in use, until it is said that the hop does not answer
 * ({@link #lost}): a busy hop may not answer. Peers can name as many hops as they like that are
 * not there; so what waits, and the hops that are asked for, are bounded over all, and the oldest makes room. Never
 * reads the clock; callers pass the current time in nanoseconds. For one thread.
 *
 * @param <P> what waits for an address
 */
public final class NeighborTable<P> {
    /** A hop with fewer packets takes the place of others' when there is no room, and one with more of its own. */
    private static final int FEW = 3;
    /** How often an unresolved hop is asked for (RFC 4861: MAX_UNICAST_SOLICIT, RETRANS_TIMER). */
    static final int MAX_ATTEMPTS = 3;
    static final long RETRY_NANOS = TimeUnit.SECONDS.toNanos(1);
    /** How often a hop in use is confirmed: the kernel does not see our traffic and would let it go stale. */
    static final long REFRESH_NANOS = TimeUnit.SECONDS.toNanos(30);
    /** A hop not used for so long is forgotten. */
    static final long IDLE_NANOS = TimeUnit.MINUTES.toNanos(5);
    /** Hops that are asked for at a time; as many as Linux's table holds (gc_thresh3). The oldest is given up. */
    static final int MAX_UNRESOLVED = 1024;
    private static final int MAX_HOPS = 65536;

    /** Asks who has an address. */
    public interface Solicitor {
        /** Asks for a hop on a link; the answer, if any, comes later through {@link NeighborTable#learned}. */
        void solicit(int linkIndex, IpAddress hop);
    }

    /** Takes packets that had to wait. */
    public interface PacketSink<P> {
        /** The hop's address is known: the packet can go. */
        void send(P packet, long mac);

        /** The hop does not answer, or newer packets took the place. */
        void discard(P packet);
    }

    private record Key(int linkIndex, IpAddress hop) {
    }

    /** By which senders that keep a hop's address say that they use it. */
    public static final class Use {
        private boolean used;

        private Use() {
        }

        /** A packet goes to the hop. */
        public void touch() {
            used = true;
        }
    }

    private static final class Entry<P> {
        private final Key key;
        private final Use use = new Use();
        private final ArrayDeque<Waiting<P>> waiting = new ArrayDeque<>(4);
        private long mac = Neighbor.NO_MAC;
        private int attempts;
        private long askedNanos;
        private long usedNanos;

        private Entry(Key key) {
            this.key = key;
        }
    }

    /** A packet in its place of those of all hops. Equal to itself alone. */
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
    /** All that waits, the oldest first. */
    private final Set<Waiting<P>> waiting = new LinkedHashSet<>();
    /** The hops without an address, the oldest first. */
    private final Set<Entry<P>> unresolved = new LinkedHashSet<>();
    private long displaced;

    /**
     * Makes an empty table.
     *
     * @param maxWaiting how many packets wait, over all hops. Half of them may be of one: a gateway is the hop of very
     *                   many peers. The oldest makes room, as RFC 1122 section 2.3.2.2 wants the latest kept
     */
    public NeighborTable(Solicitor solicitor, PacketSink<P> sink, int maxWaiting) {
        this.solicitor = solicitor;
        this.sink = sink;
        maxWaitingOfHop = Math.max(1, maxWaiting / 2);
        this.maxWaiting = maxWaiting;
    }

    /**
     * Returns the MAC address of a hop, or {@link Neighbor#NO_MAC} when it is not known: then {@link #await} with the
     * packet. Marks the hop as in use.
     */
    public long macOf(int linkIndex, IpAddress hop, long nowNanos) {
        Entry<P> entry = entries.get(new Key(linkIndex, hop));
        if (entry == null) {
            return Neighbor.NO_MAC;
        }
        entry.usedNanos = nowNanos;
        return entry.mac;
    }

    /** Puts a hop in the table whose MAC address is known from elsewhere, and is to be kept fresh while it is used. */
    public Use known(int linkIndex, IpAddress hop, long mac, long nowNanos) {
        Key key = new Key(linkIndex, hop);
        Entry<P> entry = entries.get(key);
        if (entry == null && entries.size() == MAX_HOPS) {
            return new Use();
        }
        if (entry == null) {
            entry = new Entry<>(key);
            entry.usedNanos = nowNanos;
            entry.askedNanos = nowNanos;
            entries.put(key, entry);
        }
        if (entry.mac != mac || entry.attempts > 0) {
            learned(linkIndex, hop, mac, nowNanos);
        }
        return entry.use;
    }

    /** Returns the mark of use of a hop that is in the table, or null. */
    public Use useOf(int linkIndex, IpAddress hop) {
        Entry<P> entry = entries.get(new Key(linkIndex, hop));
        return entry == null ? null : entry.use;
    }

    /** The host has forgotten a hop's address without calling it wrong: it is asked for at once. */
    public void forgotten(int linkIndex, IpAddress hop, long nowNanos) {
        Entry<P> entry = entries.get(new Key(linkIndex, hop));
        if (entry != null && entry.mac != Neighbor.NO_MAC && entry.attempts == 0) {
            ask(entry, nowNanos);
        }
    }

    /**
     * Packets by a hop seem to get lost: it is asked for again now, once in the time of a question, however many report
     * it. Its address stays good until it is said that the hop does not answer.
     */
    public void suspect(int linkIndex, IpAddress hop, long nowNanos) {
        Entry<P> entry = entries.get(new Key(linkIndex, hop));
        if (entry != null && entry.attempts == 0 && nowNanos - entry.askedNanos >= RETRY_NANOS) {
            ask(entry, nowNanos);
        }
    }

    /** Hands every hop to an action, which may say what it has learned of them. */
    public void forEachHop(HopAction action) {
        for (Key key : List.copyOf(entries.keySet())) {
            action.on(key.linkIndex(), key.hop());
        }
    }

    /** What is done with each hop. */
    public interface HopAction {
        /** Does it. */
        void on(int linkIndex, IpAddress hop);
    }

    /** Keeps a packet until its hop's MAC address is known, and asks for that. */
    public void await(int linkIndex, IpAddress hop, P packet, long nowNanos) {
        Entry<P> entry = entryToAsk(linkIndex, hop);
        if (entry == null) {
            sink.discard(packet);
            return;
        }
        entry.usedNanos = nowNanos;
        boolean full = waiting.size() == maxWaiting;
        if (entry.waiting.size() == maxWaitingOfHop || full && entry.waiting.size() >= FEW) {
            discardOldest(entry);
        } else if (full) {
            displaced++;
            discardOldest(waiting.iterator().next().entry);
        }
        Waiting<P> last = new Waiting<>(entry, packet);
        entry.waiting.add(last);
        waiting.add(last);
        if (entry.attempts == 0) {
            ask(entry, nowNanos);
        }
    }

    /** Asks for a hop's MAC address, for packets that do not wait: answers to peers that ask again. */
    public void request(int linkIndex, IpAddress hop, long nowNanos) {
        Entry<P> entry = entryToAsk(linkIndex, hop);
        if (entry != null) {
            entry.usedNanos = nowNanos;
            if (entry.attempts == 0) {
                ask(entry, nowNanos);
            }
        }
    }

    /** Returns null when there is no place for it. */
    private Entry<P> entryToAsk(int linkIndex, IpAddress hop) {
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

    /** An entry that is in the table no more. */
    private void forget(Entry<P> entry) {
        unresolved.remove(entry);
        while (!entry.waiting.isEmpty()) {
            discardOldest(entry);
        }
    }

    private void ask(Entry<P> entry, long nowNanos) {
        entry.attempts++;
        entry.askedNanos = nowNanos;
        solicitor.solicit(entry.key.linkIndex(), entry.key.hop());
    }

    /** A hop's MAC address has become known or was confirmed; what waited for it goes out. */
    public void learned(int linkIndex, IpAddress hop, long mac, long nowNanos) {
        Entry<P> entry = entries.get(new Key(linkIndex, hop));
        if (entry == null) {
            return;
        }
        entry.mac = mac;
        entry.attempts = 0;
        entry.askedNanos = nowNanos;
        unresolved.remove(entry);
        while (!entry.waiting.isEmpty()) {
            Waiting<P> next = entry.waiting.poll();
            waiting.remove(next);
            sink.send(next.packet, mac);
        }
    }

    /** A hop is known not to answer, or its link is gone. */
    public void lost(int linkIndex, IpAddress hop) {
        Entry<P> entry = entries.remove(new Key(linkIndex, hop));
        if (entry != null) {
            forget(entry);
        }
    }

    /** Asks again where it is time, gives up hops that do not answer, and forgets those not in use. */
    public void poll(long nowNanos) {
        List<Entry<P>> toAsk = new ArrayList<>();
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
                toAsk.add(entry);
            }
        }
        // A solicitor may know the answer at once and change the table.
        toAsk.forEach(entry -> ask(entry, nowNanos));
    }

    private static boolean hasNoAnswer(Entry<?> entry) {
        return entry.mac == Neighbor.NO_MAC && entry.attempts >= MAX_ATTEMPTS;
    }

    private static boolean isIdle(Entry<?> entry, long nowNanos) {
        return entry.waiting.isEmpty() && nowNanos - entry.usedNanos >= IDLE_NANOS;
    }

    private static long dueNanos(Entry<?> entry) {
        if (entry.attempts > 0) {
            return entry.askedNanos + RETRY_NANOS;
        }
        boolean usedSince = entry.use.used || entry.usedNanos - entry.askedNanos > 0;
        return usedSince ? entry.askedNanos + REFRESH_NANOS : entry.usedNanos + IDLE_NANOS;
    }

    /** Returns when {@link #poll} has something to do next, or Long.MAX_VALUE. */
    public long nextDeadlineNanos() {
        long next = Long.MAX_VALUE;
        for (Entry<P> entry : entries.values()) {
            next = Math.min(next, dueNanos(entry));
        }
        return next;
    }

    /** Returns the number of hops known or asked for. */
    public int size() {
        return entries.size();
    }

    /** Returns how many packets wait, over all hops. */
    public int waitingCount() {
        return waiting.size();
    }

    /** Returns how many packets made room for those of other hops. Any thread; it may be a little old. */
    public long displacedCount() {
        return displaced;
    }

    /** Discards all that waits. */
    public void close() {
        entries.values().forEach(this::forget);
        entries.clear();
    }
}
