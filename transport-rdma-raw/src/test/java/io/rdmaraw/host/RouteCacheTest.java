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

    private static final int LINK = 2;
    private static final long NOW = 5_000_000_000L;

    private final List<String> asked = new ArrayList<>();
    private final RouteCache cache = new RouteCache(new AskedHost());

    /** A host with two addresses: the second one routes through its own link, the first one has no route. */
    private final class AskedHost implements IpHost {
        @Override
        public NetworkSnapshot snapshot() {
            throw new AssertionError("it is given");
        }

        @Override
        public NetworkSnapshot.Path path(NetworkSnapshot snapshot, IpAddress destination, IpAddress sourceOrNull,
                int mark, int preferredLink) {
            asked.add(destination + " from " + sourceOrNull + (mark == 0 ? "" : " mark " + mark));
            return FIRST.equals(sourceOrNull) ? null
                    : new NetworkSnapshot.Path(new Link(3, "eth1", 1, 1500, 1), destination, SECOND, 1500, 0);
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

    /**
     * Each lookup is a system call. The result for a pair of addresses, even "no route", is cached until the network
     * changes.
     */
    @Test
    void routeIsLookedUpOncePerAddressPair() {
        NetworkSnapshot snapshot = Snapshots.withPolicyRules(1);
        NetworkSnapshot.Path path = cache.path(snapshot, PEER, SECOND, 0, LINK, NOW);
        assertSame(path, cache.path(snapshot, PEER, SECOND, 0, LINK, NOW));
        assertEquals(List.of("198.51.100.7 from 10.0.1.1"), asked);
        assertNull(cache.path(snapshot, PEER, FIRST, 0, LINK, NOW));
        assertNull(cache.path(snapshot, PEER, FIRST, 0, LINK, NOW));
        assertEquals(2, asked.size(), "that there is none is known too");
        assertSame(path, cache.path(snapshot, PEER, SECOND, 0, LINK, NOW), "the source tells them apart");
        cache.path(Snapshots.withPolicyRules(2), PEER, SECOND, 0, LINK, NOW);
        assertEquals(3, asked.size(), "the network has changed");
    }

    @Test
    void routesAreCachedPerMark() {
        NetworkSnapshot snapshot = Snapshots.withPolicyRules(1);
        NetworkSnapshot.Path unmarked = cache.path(snapshot, PEER, SECOND, 0, LINK, NOW);
        for (int mark : new int[] {1, 0x100, -1}) {
            NetworkSnapshot.Path marked = cache.path(snapshot, PEER, SECOND, mark, LINK, NOW);
            assertNotSame(unmarked, marked);
            assertSame(marked, cache.path(snapshot, PEER, SECOND, mark, LINK, NOW));
        }
        assertSame(unmarked, cache.path(snapshot, PEER, SECOND, 0, LINK, NOW), "each has a place of its own");
        assertEquals(List.of("198.51.100.7 from 10.0.1.1", "198.51.100.7 from 10.0.1.1 mark 1",
                "198.51.100.7 from 10.0.1.1 mark 256", "198.51.100.7 from 10.0.1.1 mark -1"), asked);
    }

    /**
     * "No route" for a marked sender expires after a second: the kernel may have failed to answer, and the sender must
     * not use another route in that time.
     */
    @Test
    void missingRouteOfMarkExpiresAfterSecond() {
        NetworkSnapshot snapshot = Snapshots.withPolicyRules(1);
        for (int millis = 0; millis < 3_000; millis++) {
            long now = NOW + millis * 1_000_000L;
            assertNull(cache.path(snapshot, PEER, FIRST, 7, LINK, now));
            assertNull(cache.path(snapshot, PEER, FIRST, 0, LINK, now));
        }
        assertEquals(1, asked.stream().filter("198.51.100.7 from 10.0.0.1"::equals).count());
        assertEquals(3, asked.stream().filter("198.51.100.7 from 10.0.0.1 mark 7"::equals).count());
    }

    /**
     * Segments from a source without a route to a marked server cause one lookup, so that other senders keep their
     * share.
     */
    @Test
    void missingRouteOfMarkIsLookedUpOnce() {
        NetworkSnapshot snapshot = Snapshots.withPolicyRules(1);
        for (int i = 0; i < 10_000; i++) {
            assertTrue(cache.acquireReplyLookup(snapshot, PEER, FIRST, 7, NOW));
            cache.path(snapshot, PEER, FIRST, 7, LINK, NOW);
        }
        assertEquals(1, asked.size());
    }

    /** Any number of source addresses can be forged and each lookup is a system call, so their rate is limited. */
    @Test
    void lookupsForRepliesAreRateLimited() {
        NetworkSnapshot snapshot = Snapshots.withPolicyRules(1);
        long now = NOW;
        int allowed = 0;
        for (int i = 0; i < 100_000; i++) {
            IpAddress sender = new IpAddress(0x2001_0db8_0000_0000L, i);
            if (cache.acquireReplyLookup(snapshot, sender, SECOND, 0, now + i * 1_000L)) {
                cache.path(snapshot, sender, SECOND, 0, LINK, now);
                allowed++;
            }
        }
        assertEquals(allowed, asked.size());
        assertEquals(1_024 + 5_000, allowed, 1, "a thousand at once, and then one in 20 microseconds");
    }

    /** Cached peers are not limited by a flood of new ones. Without policy rules no lookup is needed. */
    @Test
    void cachedRoutesAreNotLimited() {
        NetworkSnapshot snapshot = Snapshots.withPolicyRules(1);
        long now = NOW;
        int i = 0;
        while (cache.acquireReplyLookup(snapshot, new IpAddress(0x2001_0db8_0000_0000L, i++), SECOND, 0, now)) {
            assertTrue(i < 10_000);
        }
        NetworkSnapshot.Path path = cache.path(snapshot, PEER, SECOND, 0, LINK, NOW);
        assertTrue(cache.acquireReplyLookup(snapshot, PEER, SECOND, 0, now));
        assertSame(path, cache.path(snapshot, PEER, SECOND, 0, LINK, NOW), "a connection asks whatever others send");
        assertFalse(cache.acquireReplyLookup(Snapshots.withPolicyRules(2), PEER, SECOND, 0, now),
                "the network has changed");
        assertTrue(cache.acquireReplyLookup(Snapshots.of(3), PEER, SECOND, 0, now));
    }
}
