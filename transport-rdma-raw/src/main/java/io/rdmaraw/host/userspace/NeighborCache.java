package io.rdmaraw.host.userspace;

import io.rdmaraw.net.IpAddress;
import io.rdmaraw.net.Neighbor;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import java.util.random.RandomGenerator;

/**
 * The hosts on a link, with the states of RFC 4861 section 7.3.2, which serve ARP as well. Never reads the
 * clock; callers pass the current time in nanoseconds.
 */
final class NeighborCache {
    /** Asks a host for its MAC address, by all or by itself. */
    interface Solicitor {
        /** @param mac the host's address as known, or {@link Neighbor#NO_MAC} to ask all */
        void solicit(IpAddress target, long mac);
    }

    private enum State {
        INCOMPLETE(Neighbor.INCOMPLETE), REACHABLE(Neighbor.REACHABLE), STALE(Neighbor.STALE), DELAY(Neighbor.STALE),
        PROBE(Neighbor.STALE), FAILED(Neighbor.FAILED);

        private final int asKernel;

        State(int asKernel) {
            this.asKernel = asKernel;
        }

        /** Something happens when the time has come. */
        private boolean hasDeadline() {
            return this != REACHABLE && this != STALE;
        }
    }

    private static final class Entry {
        private State state;
        private long mac = Neighbor.NO_MAC;
        private int solicitations;
        private long deadlineNanos;

        private Entry(State state) {
            this.state = state;
        }
    }

    private static final long SECOND = TimeUnit.SECONDS.toNanos(1);
    /** RFC 4861 section 10. */
    private static final int MAX_SOLICITATIONS = 3;
    private static final long RETRANS_NANOS = SECOND;
    private static final long BASE_REACHABLE_NANOS = 30 * SECOND;
    private static final long DELAY_FIRST_PROBE_NANOS = 5 * SECOND;
    /** For how long senders are told that a host does not answer. */
    private static final long FAILED_NANOS = SECOND;
    /** How often it is tried whether a router that did not answer is back. */
    private static final long ROUTER_PROBE_NANOS = 10 * SECOND;
    private static final int MAX_ENTRIES = 8192;
    /** Packets that make us send to many unassigned addresses must not fill the cache (RFC 6583). */
    private static final int MAX_INCOMPLETE = 1024;

    private final Solicitor solicitor;
    private final RandomGenerator random;
    /** Tells whether a host is a router that packets go by. */
    private final Predicate<IpAddress> routers;
    /** In the order in which they were last sent to, or came. */
    private final Map<IpAddress, Entry> entries = new LinkedHashMap<>();
    /** Those of them that were not sent to: they make room first, the oldest before the others. */
    private final Set<IpAddress> unused = new LinkedHashSet<>();
    /** Routers that did not answer when they were asked last, and were not heard from since. */
    private final Set<IpAddress> deadRouters = new LinkedHashSet<>();
    private long nextRouterProbeNanos;
    private int incomplete;
    private boolean changed;
    /**
     * Not later than the first deadline, so that finding it needs no scan of all entries. It is brought forward when a
     * deadline is set, and corrected when it has come.
     */
    private long deadlineNanos = Long.MAX_VALUE;

    NeighborCache(Solicitor solicitor, Predicate<IpAddress> routers, RandomGenerator random) {
        this.solicitor = solicitor;
        this.routers = routers;
        this.random = random;
    }

    /** Returns whether what {@link #neighbors} returns has changed since this was asked last. */
    boolean takeChanged() {
        boolean was = changed;
        changed = false;
        return was;
    }

    private void set(Entry entry, State state) {
        incomplete += (state == State.INCOMPLETE ? 1 : 0) - (entry.state == State.INCOMPLETE ? 1 : 0);
        entry.state = state;
        changed = true;
    }

    /** A packet is sent to the host, or is about to be. */
    void use(IpAddress host, long nowNanos) {
        unused.remove(host);
        Entry entry = entries.remove(host);
        if (entry != null) {
            entries.put(host, entry);
        }
        if (entry == null || entry.state == State.FAILED) {
            beginResolution(host, nowNanos);
        } else if (entry.state == State.STALE || entry.state == State.REACHABLE
                && nowNanos - entry.deadlineNanos >= 0) {
            set(entry, State.DELAY);
            setDeadline(entry, nowNanos + DELAY_FIRST_PROBE_NANOS);
        }
    }

    private void beginResolution(IpAddress host, long nowNanos) {
        entries.remove(host);
        if (incomplete >= MAX_INCOMPLETE) {
            return;
        }
        Entry entry = add(host, State.INCOMPLETE);
        incomplete++;
        ask(host, entry, nowNanos);
    }

    private Entry add(IpAddress host, State state) {
        if (entries.size() >= MAX_ENTRIES) {
            makeRoom();
        }
        Entry entry = new Entry(state);
        entries.put(host, entry);
        changed = true;
        return entry;
    }

    /**
     * Makes room. Solicitations from many addresses push out only entries that came in the same way. Hosts that are
     * sent to make room only for others that are, and routers stay.
     */
    private void makeRoom() {
        Iterator<IpAddress> oldest = unused.isEmpty() ? entries.keySet().iterator() : unused.iterator();
        IpAddress host = oldest.next();
        while (routers.test(host) && oldest.hasNext()) {
            host = oldest.next();
        }
        unused.remove(host);
        incomplete -= entries.remove(host).state == State.INCOMPLETE ? 1 : 0;
    }

    private void ask(IpAddress host, Entry entry, long nowNanos) {
        entry.solicitations++;
        setDeadline(entry, nowNanos + RETRANS_NANOS);
        solicitor.solicit(host, entry.mac);
    }

    /** A host has asked us for our address and so told its own (RFC 4861 section 7.2.3, RFC 826). */
    void heardFrom(IpAddress host, long mac) {
        routerLives(host);
        Entry entry = entries.get(host);
        if (entry == null) {
            entry = add(host, State.STALE);
            entry.mac = mac;
            unused.add(host);
        } else if (entry.mac != mac) {
            entry.mac = mac;
            entry.solicitations = 0;
            set(entry, State.STALE);
        }
    }

    /**
     * A host has told its address (RFC 4861 section 7.2.5).
     *
     * @param mac its address, or {@link Neighbor#NO_MAC} when it did not say
     * @param solicited whether it answers a question of ours
     * @param override whether it replaces an address that is known
     */
    void advertised(IpAddress host, long mac, boolean solicited, boolean override, long nowNanos) {
        Entry entry = entries.get(host);
        if (entry == null || entry.state == State.FAILED || entry.state == State.INCOMPLETE && mac == Neighbor.NO_MAC) {
            return;
        }
        routerLives(host);
        boolean differs = mac != Neighbor.NO_MAC && mac != entry.mac;
        if (differs && !override && entry.state != State.INCOMPLETE) {
            if (entry.state == State.REACHABLE) {
                set(entry, State.STALE);
            }
            return;
        }
        if (differs) {
            entry.mac = mac;
        }
        if (solicited) {
            entry.solicitations = 0;
            set(entry, State.REACHABLE);
            // RFC 4861 section 6.3.2: between half and one and a half of the base value.
            entry.deadlineNanos = nowNanos + random.nextLong(BASE_REACHABLE_NANOS / 2, BASE_REACHABLE_NANOS * 3 / 2);
        } else if (differs) {
            set(entry, State.STALE);
        }
    }

    /** Tells whether a host was asked and has not answered yet. */
    boolean isAwaited(IpAddress host) {
        Entry entry = entries.get(host);
        return entry != null && (entry.state == State.INCOMPLETE || entry.state == State.PROBE);
    }

    void poll(long nowNanos) {
        probeRouters(nowNanos);
        if (deadlineNanos == Long.MAX_VALUE || nowNanos - deadlineNanos < 0) {
            return;
        }
        for (Map.Entry<IpAddress, Entry> item : List.copyOf(entries.entrySet())) {
            Entry entry = item.getValue();
            if (!entry.state.hasDeadline() || nowNanos - entry.deadlineNanos < 0) {
                continue;
            }
            if (entry.state == State.FAILED) {
                entries.remove(item.getKey());
                unused.remove(item.getKey());
                changed = true;
            } else if (entry.state == State.DELAY) {
                set(entry, State.PROBE);
                entry.solicitations = 0;
                ask(item.getKey(), entry, nowNanos);
            } else if (entry.solicitations < MAX_SOLICITATIONS) {
                ask(item.getKey(), entry, nowNanos);
            } else {
                set(entry, State.FAILED);
                entry.mac = Neighbor.NO_MAC;
                setDeadline(entry, nowNanos + FAILED_NANOS);
                routerDies(item.getKey(), nowNanos);
            }
        }
        findDeadline();
    }

    private void routerDies(IpAddress host, long nowNanos) {
        if (routers.test(host)) {
            nextRouterProbeNanos = deadRouters.isEmpty() ? nowNanos + ROUTER_PROBE_NANOS : nextRouterProbeNanos;
            changed |= deadRouters.add(host);
        }
    }

    private void routerLives(IpAddress host) {
        changed |= deadRouters.remove(host);
    }

    private void probeRouters(long nowNanos) {
        changed |= deadRouters.removeIf(routers.negate());
        if (!deadRouters.isEmpty() && nowNanos - nextRouterProbeNanos >= 0) {
            nextRouterProbeNanos = nowNanos + ROUTER_PROBE_NANOS;
            deadRouters.forEach(router -> use(router, nowNanos));
        }
    }

    /**
     * Tells whether a router did not answer when it was asked last: others are to be preferred (RFC 4861 section
     * 6.3.6), until it is heard from again.
     */
    boolean isDead(IpAddress router) {
        return deadRouters.contains(router);
    }

    /** The entry's state is one that has a deadline. */
    private void setDeadline(Entry entry, long nanos) {
        entry.deadlineNanos = nanos;
        deadlineNanos = deadlineNanos == Long.MAX_VALUE || nanos - deadlineNanos < 0 ? nanos : deadlineNanos;
    }

    private void findDeadline() {
        deadlineNanos = Long.MAX_VALUE;
        for (Entry entry : entries.values()) {
            if (entry.state.hasDeadline()) {
                setDeadline(entry, entry.deadlineNanos);
            }
        }
    }

    /** Returns when {@link #poll} is to be called next: then or later there is something to do. */
    long deadlineNanos() {
        return deadRouters.isEmpty() ? deadlineNanos : Math.min(deadlineNanos, nextRouterProbeNanos);
    }

    List<Neighbor> neighbors(int linkIndex) {
        List<Neighbor> neighbors = new ArrayList<>();
        entries.forEach((host, entry) -> neighbors.add(new Neighbor(linkIndex, host, entry.mac, entry.state.asKernel)));
        return neighbors;
    }
}
