package io.rdmaraw.host;

import io.rdmaraw.net.IpAddress;
import io.rdmaraw.net.Link;
import io.rdmaraw.net.LocalAddress;
import io.rdmaraw.net.Neighbor;
import io.rdmaraw.net.NeighborTable;
import io.rdmaraw.net.NetworkSnapshot;

import java.util.List;
import java.util.concurrent.Executor;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Consumer;

/**
 * One loop's next hops in a host's network: has the host ask for those that are not known, sends what waited, and
 * keeps those in use fresh. For the loop's thread.
 */
final class LoopNeighbors {
    private static final long MAX_TIMER_NANOS = TimeUnit.SECONDS.toNanos(10);
    private static final long MIN_TIMER_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

    private final IpHost host;
    private final Executor loop;
    private final NeighborTable<PendingPacket> table;
    private final Runnable onHostChange;
    private final Consumer<NetworkSnapshot> listener;
    /** Solicitations that the host refused; counted on its thread. */
    private final LongAdder refusals = new LongAdder();
    private boolean timerRuns;
    private List<Link> links;
    private List<LocalAddress> addresses;

    /**
     * @param maxWaiting how many packets wait, over all hops
     * @param onHostChange what to do when the host's links or addresses have changed
     */
    LoopNeighbors(IpHost host, Executor loop, int maxWaiting, Runnable onHostChange) {
        this.host = host;
        this.loop = loop;
        this.onHostChange = onHostChange;
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
     * The host does the asking and the waiting for an answer; an address that it has stays good until it says no. A
     * packet that waits for one that is known by now is sent later: the caller may be about to send a burst.
     */
    private void solicit(int linkIndex, IpAddress hop) {
        host.solicit(linkIndex, hop, refusals::increment);
        Neighbor known = host.snapshot().neighbor(linkIndex, hop);
        if (known != null && known.isResolved()) {
            loop.execute(() -> table.learned(linkIndex, hop, known.mac(), System.nanoTime()));
        }
    }

    private void onSnapshot(NetworkSnapshot snapshot) {
        long now = System.nanoTime();
        table.forEachHop((linkIndex, hop) -> {
            Neighbor neighbor = snapshot.neighbor(linkIndex, hop);
            if (neighbor != null && neighbor.isResolved()) {
                table.known(linkIndex, hop, neighbor.mac(), now);
            } else if (neighbor == null) {
                table.forgotten(linkIndex, hop, now);
            } else if (neighbor.isFailed()) {
                table.lost(linkIndex, hop);
            }
        });
        if (!snapshot.links().equals(links) || !snapshot.addresses().equals(addresses)) {
            links = snapshot.links();
            addresses = snapshot.addresses();
            onHostChange.run();
        }
    }

    /**
     * Returns a hop as frames are sent to it now. One that the host has forgotten is known here as long as it is in
     * use: the kernel's table is small, and a flood of addresses on the link fills it.
     */
    NextHop find(NetworkSnapshot snapshot, int linkIndex, IpAddress hop, ScheduledExecutorService timers) {
        Neighbor neighbor = snapshot.neighbor(linkIndex, hop);
        long now = System.nanoTime();
        if (neighbor != null && neighbor.isResolved()) {
            runTimer(timers);
            return new NextHop(linkIndex, hop, neighbor.mac(), table.known(linkIndex, hop, neighbor.mac(), now));
        }
        long mac = neighbor != null && neighbor.isFailed() ? Neighbor.NO_MAC : table.macOf(linkIndex, hop, now);
        return new NextHop(linkIndex, hop, mac, mac == Neighbor.NO_MAC ? null : table.useOf(linkIndex, hop));
    }

    void await(PendingPacket packet) {
        NextHop hop = packet.nextHop();
        runTimer(packet.loop());
        table.await(hop.linkIndex(), hop.address(), packet, System.nanoTime());
    }

    /** Has a hop asked for, for an answer that does not wait. */
    void request(NextHop hop, ScheduledExecutorService timers) {
        runTimer(timers);
        table.request(hop.linkIndex(), hop.address(), System.nanoTime());
    }

    /** Has it asked again whether a hop is where it was. */
    void suspect(NextHop hop, ScheduledExecutorService timers) {
        runTimer(timers);
        table.suspect(hop.linkIndex(), hop.address(), System.nanoTime());
    }

    /** Returns how many packets were dropped because too many waited. Any thread. */
    long displacedPackets() {
        return table.displacedCount();
    }

    /** Returns how many times the host could not ask for a neighbour. Any thread. */
    long refusedSolicitations() {
        return refusals.sum();
    }

    /** Returns how often changes of the host's network were lost, and all was read anew. Any thread. */
    long lostNotifications() {
        return host.lostNotifications();
    }

    /** The loop ends: what waits is let go of. */
    void close() {
        host.removeListener(listener);
        table.close();
    }

    private void runTimer(ScheduledExecutorService timers) {
        if (timerRuns) {
            return;
        }
        timerRuns = true;
        long untilNext = table.nextDeadlineNanos() - System.nanoTime();
        timers.schedule(() -> {
            timerRuns = false;
            table.poll(System.nanoTime());
            if (table.size() > 0) {
                runTimer(timers);
            }
        }, Math.clamp(untilNext, MIN_TIMER_NANOS, MAX_TIMER_NANOS), TimeUnit.NANOSECONDS);
    }
}
