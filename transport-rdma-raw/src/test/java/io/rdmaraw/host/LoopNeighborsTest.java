package io.rdmaraw.host;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.util.concurrent.MockTicker;
import io.netty.util.concurrent.Ticker;
import io.rdmaraw.host.kernel.KernelIpHost;
import io.rdmaraw.net.IpAddress;
import io.rdmaraw.net.LocalAddress;
import io.rdmaraw.net.Neighbor;
import io.rdmaraw.net.NetworkSnapshot;
import io.rdmaraw.net.Snapshots;
import io.rdmaraw.wire.FrameOrigin;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;

class LoopNeighborsTest {
    private static final int LINK = 3;
    private static final long MAC = 0x0200_0000_0042L;
    private static final IpAddress HOP = IpAddress.ipv4(0x0a000001);
    private static final IpAddress OTHER = IpAddress.ipv4(0x0a000002);

    /** The time of the loop. It stands still unless the test advances it. */
    private final MockTicker ticker = Ticker.newMockTicker();
    private final EmbeddedChannel channel = EmbeddedChannel.builder().ticker(ticker).build();
    private final ScheduledExecutorService timers = channel.eventLoop();

    @AfterEach
    void close() {
        channel.finish();
    }

    private LoopNeighbors neighborsOf(IpHost host) {
        return new LoopNeighbors(host, Runnable::run, 128, () -> { }, ticker::nanoTime);
    }

    /** A host with snapshots set by the test. */
    private static final class SaidHost implements IpHost {
        private final List<Consumer<NetworkSnapshot>> listeners = new ArrayList<>();
        private final List<IpAddress> asked = new ArrayList<>();
        private List<LocalAddress> addresses = List.of();
        private NetworkSnapshot snapshot = Snapshots.of(0);

        void say(Neighbor... neighbors) {
            snapshot = Snapshots.of(snapshot.generation() + 1, addresses, neighbors);
            listeners.forEach(listener -> listener.accept(snapshot));
        }

        @Override
        public NetworkSnapshot snapshot() {
            return snapshot;
        }

        @Override
        public void addListener(Consumer<NetworkSnapshot> listener) {
            listeners.add(listener);
        }

        @Override
        public void removeListener(Consumer<NetworkSnapshot> listener) {
            listeners.remove(listener);
        }

        @Override
        public void solicit(int linkIndex, IpAddress hop, Runnable refused) {
            asked.add(hop);
        }
    }

    /** A packet to a hop. Records its fate. */
    private record Packet(IpAddress hop, ScheduledExecutorService loop, List<String> fates) implements PendingPacket {
        @Override
        public NextHop nextHop() {
            return new NextHop(LINK, hop, Neighbor.NO_MAC, null);
        }

        @Override
        public void send(long mac) {
            fates.add("sent to " + Long.toHexString(mac));
        }

        @Override
        public void discard() {
            fates.add("discarded");
        }
    }

    private static Neighbor neighbor(long mac, int state) {
        return new Neighbor(LINK, HOP, mac, state);
    }

    /** The host outlives loops. A registered listener would keep the loop's objects in memory. */
    @Test
    void closedLoopIsRemovedFromHost() throws IOException {
        KernelIpHost host = KernelIpHost.ofCallingThread();
        int before = host.listenerCount();
        LoopNeighbors neighbors = new LoopNeighbors(host, Runnable::run, 128, () -> { });
        assertEquals(before + 1, host.listenerCount());
        neighbors.close();
        assertEquals(before, host.listenerCount());
    }

    /** The kernel refuses a solicitation, as with a full neighbour table. Here the link does not exist. */
    @Test
    @Timeout(60)
    void refusedSolicitationsAreCounted() throws Exception {
        ScheduledExecutorService loop = Executors.newSingleThreadScheduledExecutor();
        IpContext view = new IpContext(loop, 128, FrameOrigin.LINK);
        assertEquals(0, view.refusedSolicitations());
        LoopNeighbors neighbors = view.neighbors(KernelIpHost.ofCallingThread());
        AtomicInteger given = new AtomicInteger();
        PendingPacket packet = new PendingPacket() {
            @Override
            public NextHop nextHop() {
                return new NextHop(Integer.MAX_VALUE, HOP, Neighbor.NO_MAC, null);
            }

            @Override
            public ScheduledExecutorService loop() {
                return loop;
            }

            @Override
            public void send(long mac) {
                throw new AssertionError("nobody has said where to");
            }

            @Override
            public void discard() {
                given.incrementAndGet();
            }
        };
        loop.submit(() -> neighbors.sendWhenResolved(packet)).get();
        while (view.refusedSolicitations() == 0) {
            Thread.onSpinWait();
        }
        loop.submit(view::close).get();
        loop.shutdown();
        assertEquals(1, given.get());
    }

    /**
     * The kernel's table has about a thousand entries. A flood on the link removes entries that are in use, so the loop
     * keeps using a removed hop until it fails.
     */
    @Test
    void removedHopIsUsedUntilItFails() {
        SaidHost host = new SaidHost();
        LoopNeighbors neighbors = neighborsOf(host);
        assertFalse(neighbors.find(host.snapshot(), LINK, HOP, timers).isResolved(), "never heard of");
        host.say(neighbor(MAC, Neighbor.REACHABLE));
        assertEquals(MAC, neighbors.find(host.snapshot(), LINK, HOP, timers).mac());
        assertEquals(List.of(), host.asked);
        host.say();
        assertEquals(List.of(HOP), host.asked, "it is asked for at once");
        NextHop forgotten = neighbors.find(host.snapshot(), LINK, HOP, timers);
        assertEquals(MAC, forgotten.mac());
        assertNotNull(forgotten.use(), "it counts as used by who sends to it");
        host.say();
        assertEquals(List.of(HOP), host.asked, "once, until it is time again");
        host.say(neighbor(Neighbor.NO_MAC, Neighbor.INCOMPLETE));
        assertEquals(MAC, neighbors.find(host.snapshot(), LINK, HOP, timers).mac(), "while it is being asked");
        host.say(neighbor(Neighbor.NO_MAC, Neighbor.FAILED));
        assertFalse(neighbors.find(host.snapshot(), LINK, HOP, timers).isResolved());
        host.say();
        assertFalse(neighbors.find(host.snapshot(), LINK, HOP, timers).isResolved(), "what was wrong stays so");
        host.say(neighbor(MAC + 1, Neighbor.STALE));
        assertTrue(neighbors.find(host.snapshot(), LINK, HOP, timers).isResolved());
        assertEquals(MAC + 1, neighbors.find(host.snapshot(), LINK, HOP, timers).mac());
        neighbors.close();
    }

    /**
     * A retry must not wait for a timer that was set for hops without a request. Also the first packet of a loop must
     * not: then the table is empty when the timer is set.
     */
    @Test
    void retriesAreInTime() {
        SaidHost host = new SaidHost();
        LoopNeighbors neighbors = neighborsOf(host);
        host.say(neighbor(MAC, Neighbor.REACHABLE));
        neighbors.find(host.snapshot(), LINK, HOP, timers);
        List<String> fates = new ArrayList<>();
        neighbors.sendWhenResolved(new Packet(OTHER, timers, fates));
        for (int i = 1; i <= 3; i++) {
            assertEquals(Collections.nCopies(i, OTHER), host.asked);
            assertEquals(List.of(), fates);
            ticker.advance(1, TimeUnit.SECONDS);
            channel.runScheduledPendingTasks();
        }
        assertEquals(List.of("discarded"), fates, "three seconds without an answer");
        neighbors.close();
        assertEquals(-1, channel.runScheduledPendingTasks(), "the timer is cancelled");
    }

    /** The removal of a used entry starts a request outside of any call that passes timers. */
    @Test
    void requestForARemovedEntryIsRepeatedInTime() {
        SaidHost host = new SaidHost();
        LoopNeighbors neighbors = neighborsOf(host);
        host.say(neighbor(MAC, Neighbor.REACHABLE));
        neighbors.find(host.snapshot(), LINK, HOP, timers);
        host.say();
        assertEquals(List.of(HOP), host.asked);
        ticker.advance(1, TimeUnit.SECONDS);
        channel.runScheduledPendingTasks();
        assertEquals(List.of(HOP, HOP), host.asked);
        neighbors.close();
    }

    /**
     * An interface without an address cannot solicit, and the kernel's entry may be gone when it gets one. Packets
     * leave as soon as the kernel would send them, not at the next retry.
     */
    @Test
    void newAddressOfTheLinkStartsResolutionAtOnce() {
        SaidHost host = new SaidHost();
        LoopNeighbors neighbors = neighborsOf(host);
        neighbors.sendWhenResolved(new Packet(HOP, timers, new ArrayList<>()));
        host.addresses = List.of(address(LINK + 1));
        host.say();
        assertEquals(List.of(HOP), host.asked, "another link");
        host.addresses = List.of(address(LINK + 1), address(LINK));
        host.say();
        assertEquals(List.of(HOP, HOP), host.asked);
        host.say();
        assertEquals(List.of(HOP, HOP), host.asked);
        neighbors.close();
    }

    private static LocalAddress address(int linkIndex) {
        return new LocalAddress(linkIndex, IpAddress.parse("fe80::1"), 64, 0, 0);
    }

    /**
     * The kernel's entry says "failed" while the kernel solicits the neighbour again. A change elsewhere must not
     * discard the packet that waits.
     */
    @Test
    void oldFailureDoesNotDiscardPackets() {
        SaidHost host = new SaidHost();
        LoopNeighbors neighbors = neighborsOf(host);
        List<String> fates = new ArrayList<>();
        Neighbor failed = neighbor(Neighbor.NO_MAC, Neighbor.FAILED);
        host.say(failed);
        neighbors.sendWhenResolved(new Packet(HOP, timers, fates));
        host.say(failed, new Neighbor(LINK, OTHER, MAC, Neighbor.REACHABLE));
        assertEquals(List.of(), fates);
        host.say(neighbor(MAC, Neighbor.REACHABLE));
        assertEquals(List.of("sent to " + Long.toHexString(MAC)), fates);
        neighbors.close();
    }

    @Test
    void newFailureDiscardsPackets() {
        SaidHost host = new SaidHost();
        LoopNeighbors neighbors = neighborsOf(host);
        List<String> fates = new ArrayList<>();
        neighbors.sendWhenResolved(new Packet(HOP, timers, fates));
        host.say(neighbor(Neighbor.NO_MAC, Neighbor.FAILED));
        assertEquals(List.of("discarded"), fates);
        neighbors.close();
    }
}
