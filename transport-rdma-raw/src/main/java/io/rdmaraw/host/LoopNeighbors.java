package io.rdmaraw.host;

import io.rdmaraw.net.IpAddress;
import io.rdmaraw.net.Link;
import io.rdmaraw.net.LocalAddress;
import io.rdmaraw.net.Neighbor;
import io.rdmaraw.net.NeighborTable;
import io.rdmaraw.net.NetworkSnapshot;

import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Executor;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Consumer;
import java.util.function.LongSupplier;

/**
 * The next hops that one loop uses in a host's network. Unknown hops are solicited through the host. Packets wait in
 * the {@link NeighborTable}. It sends them when the hop is resolved, and discards them if the hop does not answer or
 * too many packets wait. Hops in use are confirmed at intervals; unused ones are removed. Used on the loop's thread
 * only, unless a method says otherwise.
 */
final class LoopNeighbors {
    private static final long MAX_TIMER_NANOS = TimeUnit.SECONDS.toNanos(10);
    private static final long MIN_TIMER_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

    private final IpHost host;
    private final Executor loop;
    private final NeighborTable<PendingPacket> table;
    private final Runnable onHostChange;
    private final LongSupplier clock;
    private final Consumer<NetworkSnapshot> listener;
    /** Number of solicitations that the host refused. May be incremented on any thread. */
    private final LongAdder refusals = new LongAdder();
    /** The loop's timers, as the last caller passed them. Set before the table has entries. */
    private ScheduledExecutorService timers;
    /** The timer that polls the table, or null. */
    private Future<?> timerOrNull;
    private long timerDueNanos;
    private List<Link> links;
    private List<LocalAddress> addresses;

    /**
     * @param maxWaiting maximum number of waiting packets of all hops
     * @param onHostChange runs on the loop when the host's links or addresses have changed
     */
    LoopNeighbors(IpHost host, Executor loop, int maxWaiting, Runnable onHostChange) {
        this(host, loop, maxWaiting, onHostChange, System::nanoTime);
    }

    /** @param clock returns the current time in nanoseconds */
    LoopNeighbors(IpHost host, Executor loop, int maxWaiting, Runnable onHostChange, LongSupplier clock) {
        this.host = host;
        this.loop = loop;
        this.onHostChange = onHostChange;
        this.clock = clock;
        links = host.snapshot().links();
        addresses = host.snapshot().addresses();
        table = new NeighborTable<>(this::solicit, new NeighborTable.PacketSink<>() {
            @Override
            public void send(PendingPacket packet, long mac) {
                packet.send(mac);
            }

            @Override
            public void discard(PendingPacket packet) {
                packet.discard();
            }
        }, maxWaiting);
        listener = snapshot -> loop.execute(() -> onSnapshot(snapshot));
        host.addListener(listener);
    }

    /**
     * Requests the resolution of a hop by the host. Returns immediately; {@link #onSnapshot} receives the result. If
     * the host knows the address already, a later task sends the waiting packets. Sending them here would interleave
     * them with a burst that the caller may be building.
     */
    private Neighbor solicit(int linkIndex, IpAddress hop) {
        host.solicit(linkIndex, hop, refusals::increment);
        pollBy(clock.getAsLong() + NeighborTable.RETRY_NANOS);
        Neighbor known = host.snapshot().neighbor(linkIndex, hop);
        if (known != null && known.isResolved()) {
            loop.execute(() -> table.learned(linkIndex, hop, known.mac(), clock.getAsLong()));
        }
        return known;
    }

    /**
     * Applies the host's results to the table. If the host has only removed an address, the hop is solicited again and
     * the address stays valid. It becomes invalid when the host reports a failure, or when the hop has not been used
     * for minutes.
     */
    private void onSnapshot(NetworkSnapshot snapshot) {
        long now = clock.getAsLong();
        table.forEachHop((linkIndex, hop) -> {
            Neighbor neighbor = snapshot.neighbor(linkIndex, hop);
            if (neighbor != null && neighbor.isResolved()) {
                table.addKnown(linkIndex, hop, neighbor.mac(), now);
            } else if (neighbor == null) {
                table.forgotten(linkIndex, hop, now);
            } else if (neighbor.isFailed()) {
                table.failed(neighbor);
            }
        });
        if (!snapshot.links().equals(links) || !snapshot.addresses().equals(addresses)) {
            Set<Integer> changed = changedLinks(snapshot);
            links = snapshot.links();
            addresses = snapshot.addresses();
            changed.forEach(linkIndex -> table.linkChanged(linkIndex, now));
            onHostChange.run();
        }
    }

    /** Returns the indexes of the links that differ from the previous snapshot, themselves or in their addresses. */
    private Set<Integer> changedLinks(NetworkSnapshot snapshot) {
        Set<Integer> changed = new HashSet<>();
        difference(links, snapshot.links()).forEach(link -> changed.add(link.index()));
        difference(addresses, snapshot.addresses()).forEach(address -> changed.add(address.linkIndex()));
        return changed;
    }

    /** Returns the elements that only one of two lists has. */
    private static <T> Set<T> difference(List<T> before, List<T> after) {
        Set<T> all = new HashSet<>(before);
        all.addAll(after);
        Set<T> both = new HashSet<>(before);
        both.retainAll(new HashSet<>(after));
        all.removeAll(both);
        return all;
    }

    /**
     * Returns the present state of a hop. An entry that the host has removed remains valid here while it is in use: the
     * kernel's table is small, and a flood of addresses on the link can fill it.
     */
    NextHop find(NetworkSnapshot snapshot, int linkIndex, IpAddress hop, ScheduledExecutorService timers) {
        Neighbor neighbor = snapshot.neighbor(linkIndex, hop);
        long now = clock.getAsLong();
        if (neighbor != null && neighbor.isResolved()) {
            ensureTimer(timers);
            return new NextHop(linkIndex, hop, neighbor.mac(), table.addKnown(linkIndex, hop, neighbor.mac(), now));
        }
        long mac = neighbor != null && neighbor.isFailed() ? Neighbor.NO_MAC : table.macOf(linkIndex, hop, now);
        return new NextHop(linkIndex, hop, mac, mac == Neighbor.NO_MAC ? null : table.useOf(linkIndex, hop));
    }

    void sendWhenResolved(PendingPacket packet) {
        NextHop hop = packet.nextHop();
        ensureTimer(packet.loop());
        table.sendWhenResolved(hop.linkIndex(), hop.address(), packet, clock.getAsLong());
    }

    /** Solicits a hop for a reply that is not queued. */
    void solicit(NextHop hop, ScheduledExecutorService timers) {
        ensureTimer(timers);
        table.request(hop.linkIndex(), hop.address(), clock.getAsLong());
    }

    /**
     * Starts a reachability probe of a hop, unless one was started within the retry interval. The result arrives in a
     * snapshot.
     */
    void suspect(NextHop hop, ScheduledExecutorService timers) {
        ensureTimer(timers);
        table.suspect(hop.linkIndex(), hop.address(), clock.getAsLong());
    }

    /**
     * Returns how many waiting packets were dropped in favour of packets to other hops. Packets displaced by later ones
     * to the same hop are not counted. May be called on any thread.
     */
    long displacedPackets() {
        return table.displacedCount();
    }

    /** Returns how often the host could not solicit a neighbour. May be called on any thread. */
    long refusedSolicitations() {
        return refusals.sum();
    }

    /**
     * Returns how often notifications of network changes were lost and the network was read again. May be called on any
     * thread.
     */
    long lostNotifications() {
        return host.lostNotifications();
    }

    /** Stops listening to the host and discards the waiting packets. Called when the loop ends. */
    void close() {
        host.removeListener(listener);
        table.close();
        if (timerOrNull != null) {
            timerOrNull.cancel(false);
        }
    }

    private void ensureTimer(ScheduledExecutorService loopTimers) {
        timers = loopTimers;
        pollBy(clock.getAsLong() + MAX_TIMER_NANOS);
    }

    /** Polls the table at the given time or earlier. */
    private void pollBy(long nanos) {
        if (timerOrNull != null && timerDueNanos - nanos <= 0) {
            return;
        }
        if (timerOrNull != null) {
            timerOrNull.cancel(false);
        }
        timerDueNanos = nanos;
        timerOrNull = timers.schedule(this::poll, nanos - clock.getAsLong(), TimeUnit.NANOSECONDS);
    }

    private void poll() {
        timerOrNull = null;
        table.poll(clock.getAsLong());
        if (table.size() > 0) {
            long now = clock.getAsLong();
            pollBy(now + Math.clamp(table.nextDeadlineNanos() - now, MIN_TIMER_NANOS, MAX_TIMER_NANOS));
        }
    }
}
