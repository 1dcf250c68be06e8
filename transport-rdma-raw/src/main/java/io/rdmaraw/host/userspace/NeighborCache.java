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
 * The neighbours on the link, with the states of RFC 4861 section 7.3.2. The same states are used for ARP. Never reads
 * the clock; callers pass the current time in nanoseconds.
 */
final class NeighborCache {
    /** Sends solicitations for the MAC address of a neighbour, by multicast or unicast. */
    interface Solicitor {
        /**
         * Sends a solicitation.
         *
         * @param mac the known address for unicast, or {@link Neighbor#NO_MAC} for multicast
         */
        void solicit(IpAddress target, long mac);
    }

    private enum State {
        INCOMPLETE(Neighbor.INCOMPLETE), REACHABLE(Neighbor.REACHABLE), STALE(Neighbor.STALE), DELAY(Neighbor.STALE),
        PROBE(Neighbor.STALE), FAILED(Neighbor.FAILED);

        private final int kernelState;

        State(int kernelState) {
            this.kernelState = kernelState;
        }

        /** Returns whether a deadline applies to this state. */
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
    /** Time for which a neighbour is reported as failed. */
    private static final long FAILED_LIFETIME_NANOS = SECOND;
    /** Interval at which unreachable routers are probed. */
    private static final long ROUTER_PROBE_NANOS = 10 * SECOND;
    private static final int MAX_ENTRIES = 8192;
    /** Packets to many unassigned addresses must not fill the cache (RFC 6583). */
    private static final int MAX_INCOMPLETE = 1024;

    private final Solicitor solicitor;
    private final RandomGenerator random;
    /** Tests whether a host is a router in use. */
    private final Predicate<IpAddress> isRouter;
    /** Entries in the order of last use or insertion. */
    private final Map<IpAddress, Entry> entries = new LinkedHashMap<>();
    /** Entries that no packet was sent to. They are evicted first, the oldest before the others. */
    private final Set<IpAddress> unused = new LinkedHashSet<>();
    /** Routers that did not respond to the last solicitations and from which no packet was received since. */
    private final Set<IpAddress> deadRouters = new LinkedHashSet<>();
    private long nextRouterProbeNanos;
    private int incompleteCount;
    private boolean changed;
    /**
     * A lower bound of the deadlines of all entries, so that no scan is needed in most cases. It is lowered when an
     * earlier deadline is set, and recomputed when it has passed.
     */
    private long deadlineNanos = Long.MAX_VALUE;

    NeighborCache(Solicitor solicitor, Predicate<IpAddress> isRouter, RandomGenerator random) {
        this.solicitor = solicitor;
        this.isRouter = isRouter;
        this.random = random;
    }

    /** Returns whether the result of {@link #neighbors} has changed since the last call. */
    boolean testAndClearChanged() {
        boolean wasChanged = changed;
        changed = false;
        return wasChanged;
    }

    private void set(Entry entry, State state) {
        incompleteCount += (state == State.INCOMPLETE ? 1 : 0) - (entry.state == State.INCOMPLETE ? 1 : 0);
        entry.state = state;
        changed = true;
    }

    /** Records that a packet is sent to a host, now or soon. Starts its resolution if necessary. */
    void recordUse(IpAddress host, long nowNanos) {
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
        if (incompleteCount >= MAX_INCOMPLETE) {
            return;
        }
        Entry entry = add(host, State.INCOMPLETE);
        incompleteCount++;
        solicit(host, entry, nowNanos);
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
     * Evicts an entry. Solicitations from many addresses can displace only entries that were created in the same way.
     * Entries in use are displaced only by others in use. Routers remain.
     */
    private void makeRoom() {
        Iterator<IpAddress> oldest = unused.isEmpty() ? entries.keySet().iterator() : unused.iterator();
        IpAddress host = oldest.next();
        while (isRouter.test(host) && oldest.hasNext()) {
            host = oldest.next();
        }
        unused.remove(host);
        incompleteCount -= entries.remove(host).state == State.INCOMPLETE ? 1 : 0;
    }

    private void solicit(IpAddress host, Entry entry, long nowNanos) {
        entry.solicitations++;
        setDeadline(entry, nowNanos + RETRANS_NANOS);
        solicitor.solicit(host, entry.mac);
    }

    /** Records the address of a host that has solicited us (RFC 4861 section 7.2.3, RFC 826). */
    void learn(IpAddress host, long mac) {
        markRouterAlive(host);
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
     * Processes an advertisement of a host (RFC 4861 section 7.2.5).
     *
     * @param mac MAC address of the host, or {@link Neighbor#NO_MAC} if the advertisement has none
     * @param solicited whether it responds to a solicitation of ours
     * @param override whether it replaces a known address
     */
    void onAdvertisement(IpAddress host, long mac, boolean solicited, boolean override, long nowNanos) {
        Entry entry = entries.get(host);
        if (entry == null || entry.state == State.FAILED || entry.state == State.INCOMPLETE && mac == Neighbor.NO_MAC) {
            return;
        }
        markRouterAlive(host);
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
            // RFC 4861 section 6.3.2: a random value between half and one and a half of the base value.
            entry.deadlineNanos = nowNanos + random.nextLong(BASE_REACHABLE_NANOS / 2, BASE_REACHABLE_NANOS * 3 / 2);
        } else if (differs) {
            set(entry, State.STALE);
        }
    }

    /** Returns whether a solicitation to a host is unanswered. */
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
                solicit(item.getKey(), entry, nowNanos);
            } else if (entry.solicitations < MAX_SOLICITATIONS) {
                solicit(item.getKey(), entry, nowNanos);
            } else {
                set(entry, State.FAILED);
                entry.mac = Neighbor.NO_MAC;
                setDeadline(entry, nowNanos + FAILED_LIFETIME_NANOS);
                markRouterDead(item.getKey(), nowNanos);
            }
        }
        findDeadline();
    }

    private void markRouterDead(IpAddress host, long nowNanos) {
        if (isRouter.test(host)) {
            nextRouterProbeNanos = deadRouters.isEmpty() ? nowNanos + ROUTER_PROBE_NANOS : nextRouterProbeNanos;
            changed |= deadRouters.add(host);
        }
    }

    private void markRouterAlive(IpAddress host) {
        changed |= deadRouters.remove(host);
    }

    private void probeRouters(long nowNanos) {
        changed |= deadRouters.removeIf(isRouter.negate());
        if (!deadRouters.isEmpty() && nowNanos - nextRouterProbeNanos >= 0) {
            nextRouterProbeNanos = nowNanos + ROUTER_PROBE_NANOS;
            deadRouters.forEach(router -> recordUse(router, nowNanos));
        }
    }

    /**
     * Returns whether a router did not respond to the last solicitations. Other routers are preferred until a packet
     * from this one is received (RFC 4861 section 6.3.6).
     */
    boolean isDead(IpAddress router) {
        return deadRouters.contains(router);
    }

    /** Sets the deadline of an entry. Its state must be one with a deadline. */
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

    /** Returns when {@link #poll} must be called next. There may be nothing to do then. */
    long deadlineNanos() {
        return deadRouters.isEmpty() ? deadlineNanos : Math.min(deadlineNanos, nextRouterProbeNanos);
    }

    List<Neighbor> neighbors(int linkIndex) {
        List<Neighbor> neighbors = new ArrayList<>();
        entries.forEach((host, entry) -> neighbors.add(new Neighbor(linkIndex, host, entry.mac,
                entry.state.kernelState)));
        return neighbors;
    }
}
