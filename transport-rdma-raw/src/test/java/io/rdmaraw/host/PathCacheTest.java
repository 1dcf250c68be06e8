package io.rdmaraw.host;

import io.rdmaraw.net.IpAddress;
import org.junit.jupiter.api.Test;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

class PathCacheTest {
    private final PathCache cache = new PathCache();

    private static InetSocketAddress peer(int n) {
        try {
            byte[] address = {10, (byte) (n >>> 16), (byte) (n >>> 8), (byte) n};
            return new InetSocketAddress(InetAddress.getByAddress(address), 1024 + n % 7);
        } catch (UnknownHostException e) {
            throw new AssertionError(e);
        }
    }

    private DatagramPath use(InetSocketAddress peer, long generation) {
        DatagramPath path = cache.find(peer, generation);
        if (path == null) {
            path = DatagramPath.direct(DatagramPath.Kind.DEVICE, generation, peer, IpAddress.parse("10.0.0.1"), 53,
                    IpAddress.of(peer.getAddress()), 1, 2);
            cache.add(path, generation);
        }
        return path;
    }

    private int known(int peers, long generation) {
        int known = 0;
        for (int i = 0; i < peers; i++) {
            known += cache.find(peer(i), generation) == null ? 0 : 1;
        }
        return known;
    }

    private void useAll(int peers, int rounds, long generation) {
        for (int round = 0; round < rounds; round++) {
            for (int i = 0; i < peers; i++) {
                use(peer(i), generation);
            }
        }
    }

    @Test
    void thousandsOfPeersAreCached() {
        useAll(10_000, 5, 1);
        assertTrue(known(10_000, 1) > 9_500, () -> known(10_000, 1) + " of 10,000 peers are known");
        for (int i = 0; i < 10_000; i++) {
            DatagramPath path = use(peer(i), 1);
            assertEquals(peer(i), path.destination());
        }
    }

    @Test
    void fewPeersUseSmallCache() {
        useAll(20, 100, 1);
        assertEquals(PathCache.MIN_PATHS, cache.capacity());
    }

    @Test
    void cacheSizeIsLimited() {
        useAll(4 * PathCache.MAX_PATHS, 1, 1);
        assertEquals(PathCache.MAX_PATHS, cache.capacity());
        assertSame(use(peer(3), 1), use(peer(3), 1));
    }

    @Test
    void aPathOfAnOlderNetworkIsNotFoundAndMakesRoom() {
        useAll(20, 1, 1);
        assertEquals(0, known(20, 2));
        useAll(20, 3, 2);
        assertEquals(20, known(20, 2));
        assertEquals(PathCache.MIN_PATHS, cache.capacity());
    }

    @Test
    void collidingPeersAreBothCached() {
        DatagramPath first = use(peer(0), 1);
        InetSocketAddress other = null;
        for (int i = 1; other == null; i++) {
            PathCache fresh = new PathCache();
            if (fresh.isSameBucket(peer(0), peer(i))) {
                other = peer(i);
            }
        }
        DatagramPath second = use(other, 1);
        assertSame(first, cache.find(peer(0), 1));
        assertSame(second, cache.find(other, 1));
    }

    @Test
    void pathsOfHostCanBeRemoved() {
        use(peer(0), 1);
        use(peer(1), 1);
        cache.forget(IpAddress.of(peer(0).getAddress()));
        assertNull(cache.find(peer(0), 1));
        assertEquals(peer(1), cache.find(peer(1), 1).destination());
    }
}
