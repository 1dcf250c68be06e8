package io.rdmaraw.host;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmaraw.net.IpAddress;
import io.rdmaraw.net.Link;
import io.rdmaraw.net.NetworkSnapshot;
import io.rdmaraw.net.Snapshots;
import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

class RouteCacheTest {
    private static final IpAddress PEER = IpAddress.parse("198.51.100.7");
    private static final IpAddress FIRST = IpAddress.parse("10.0.0.1");
    private static final IpAddress SECOND = IpAddress.parse("10.0.1.1");

    private static final long NOW = 5_000_000_000L;

    private final List<String> asked = new ArrayList<>();
    private final RouteCache cache = new RouteCache(new AskedHost());

    /** A host whose second address leads by a link of its own, and from the first one there is no way. */
    private final class AskedHost implements IpHost {
        @Override
        public NetworkSnapshot snapshot() {
            throw new AssertionError("it is given");
        }

        @Override
        public NetworkSnapshot.Path path(NetworkSnapshot snapshot, IpAddress destination, IpAddress sourceOrNull,
                int mark) {
            asked.add(destination + " from " + sourceOrNull + (mark == 0 ? "" : " mark " + mark));
            return FIRST.equals(sourceOrNull) ? null
                    : new NetworkSnapshot.Path(new Link(3, "eth1", 1, 1500, 1), destination, SECOND, 1500);
        }

        @Override
        public void addListener(Consumer<NetworkSnapshot> listener) {
            throw new AssertionError("nobody listens");
        }

        @Override
        public void removeListener(Consumer<NetworkSnapshot> listener) {
            throw new AssertionError("nobody listens");
        }

        @Override
        public void solicit(int linkIndex, IpAddress hop, Runnable refused) {
            throw new AssertionError("nobody is looked for");
        }
    }

    /** Each question is a system call: one for a pair of addresses, until the network changes. */
    @Test
    void theHostIsAskedOnceForTwoAddresses() {
        NetworkSnapshot snapshot = Snapshots.withPolicyRules(1);
        NetworkSnapshot.Path path = cache.path(snapshot, PEER, SECOND, 0, NOW);
        assertSame(path, cache.path(snapshot, PEER, SECOND, 0, NOW));
        assertEquals(List.of("198.51.100.7 from 10.0.1.1"), asked);
        assertNull(cache.path(snapshot, PEER, FIRST, 0, NOW));
        assertNull(cache.path(snapshot, PEER, FIRST, 0, NOW));
        assertEquals(2, asked.size(), "that there is none is known too");
        assertSame(path, cache.path(snapshot, PEER, SECOND, 0, NOW), "the source tells them apart");
        cache.path(Snapshots.withPolicyRules(2), PEER, SECOND, 0, NOW);
        assertEquals(3, asked.size(), "the network has changed");
    }

    @Test
    void theMarkTellsWaysApart() {
        NetworkSnapshot snapshot = Snapshots.withPolicyRules(1);
        NetworkSnapshot.Path unmarked = cache.path(snapshot, PEER, SECOND, 0, NOW);
        for (int mark : new int[] {1, 0x100, -1}) {
            NetworkSnapshot.Path marked = cache.path(snapshot, PEER, SECOND, mark, NOW);
            assertNotSame(unmarked, marked);
            assertSame(marked, cache.path(snapshot, PEER, SECOND, mark, NOW));
        }
        assertSame(unmarked, cache.path(snapshot, PEER, SECOND, 0, NOW), "each has a place of its own");
        assertEquals(List.of("198.51.100.7 from 10.0.1.1", "198.51.100.7 from 10.0.1.1 mark 1",
                "198.51.100.7 from 10.0.1.1 mark 256", "198.51.100.7 from 10.0.1.1 mark -1"), asked);
    }

    /** The kernel may have failed to answer, and a marked sender's packets are not to go another way meanwhile. */
    @Test
    void thatThereIsNoWayForAMarkLastsASecond() {
        NetworkSnapshot snapshot = Snapshots.withPolicyRules(1);
        for (int millis = 0; millis < 3_000; millis++) {
            long now = NOW + millis * 1_000_000L;
            assertNull(cache.path(snapshot, PEER, FIRST, 7, now));
            assertNull(cache.path(snapshot, PEER, FIRST, 0, now));
        }
        assertEquals(1, asked.stream().filter("198.51.100.7 from 10.0.0.1"::equals).count());
        assertEquals(3, asked.stream().filter("198.51.100.7 from 10.0.0.1 mark 7"::equals).count());
    }

    /** What a sender without a way sends to a marked server leaves the others their questions. */
    @Test
    void thatThereIsNoWayForAMarkIsNotAskedForByEachSegment() {
        NetworkSnapshot snapshot = Snapshots.withPolicyRules(1);
        for (int i = 0; i < 10_000; i++) {
            assertTrue(cache.knowsOrMayAsk(snapshot, PEER, FIRST, 7, NOW));
            cache.path(snapshot, PEER, FIRST, 7, NOW);
        }
        assertEquals(1, asked.size());
    }

    /** Anyone can send from any number of addresses: each costs a system call, so the rate is bounded. */
    @Test
    void routesOfRepliesAreAskedForAtABoundedRate() {
        NetworkSnapshot snapshot = Snapshots.withPolicyRules(1);
        long now = NOW;
        int allowed = 0;
        for (int i = 0; i < 100_000; i++) {
            IpAddress sender = new IpAddress(0x2001_0db8_0000_0000L, i);
            if (cache.knowsOrMayAsk(snapshot, sender, SECOND, 0, now + i * 1_000L)) {
                cache.path(snapshot, sender, SECOND, 0, now);
                allowed++;
            }
        }
        assertEquals(allowed, asked.size());
        assertEquals(1_024 + 5_000, allowed, 1, "a thousand at once, and then one in 20 microseconds");
    }

    /** Who has been asked for stays known, whatever others send; and without policy rules nothing is asked at all. */
    @Test
    void whatIsKnownIsNotLimited() {
        NetworkSnapshot snapshot = Snapshots.withPolicyRules(1);
        long now = NOW;
        int i = 0;
        while (cache.knowsOrMayAsk(snapshot, new IpAddress(0x2001_0db8_0000_0000L, i++), SECOND, 0, now)) {
            assertTrue(i < 10_000);
        }
        NetworkSnapshot.Path path = cache.path(snapshot, PEER, SECOND, 0, NOW);
        assertTrue(cache.knowsOrMayAsk(snapshot, PEER, SECOND, 0, now));
        assertSame(path, cache.path(snapshot, PEER, SECOND, 0, NOW), "a connection asks whatever others send");
        assertFalse(cache.knowsOrMayAsk(Snapshots.withPolicyRules(2), PEER, SECOND, 0, now), "the network has changed");
        assertTrue(cache.knowsOrMayAsk(Snapshots.of(3), PEER, SECOND, 0, now));
    }
}
