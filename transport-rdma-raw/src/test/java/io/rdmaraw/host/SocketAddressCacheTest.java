package io.rdmaraw.host;

import org.junit.jupiter.api.Test;

import java.net.Inet6Address;
import java.net.InetSocketAddress;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

class SocketAddressCacheTest {
    private static final long MAPPED = 0xffff_0000_0000L;

    private final SocketAddressCache cache = new SocketAddressCache();

    private InetSocketAddress peer(int n) {
        return cache.get(0, MAPPED | 0x0a00_0000 | n, 1024 + n % 5, 0);
    }

    private int sameAgain(int peers) {
        InetSocketAddress[] seen = new InetSocketAddress[peers];
        for (int i = 0; i < peers; i++) {
            seen[i] = peer(i);
        }
        int same = 0;
        for (int i = 0; i < peers; i++) {
            same += seen[i] == peer(i) ? 1 : 0;
        }
        return same;
    }

    @Test
    void thousandsOfPeersKeepTheirObjects() {
        sameAgain(20_000);
        sameAgain(20_000);
        int same = sameAgain(20_000);
        assertTrue(same > 19_000, same + " of 20,000 addresses were the same object again");
    }

    @Test
    void fewPeersUseSmallCache() {
        assertEquals(100, sameAgain(100));
        assertEquals(SocketAddressCache.MIN_ADDRESSES, cache.capacity());
    }

    @Test
    void manyPeersFillCacheUpToLimitOnly() {
        for (int i = 0; i < 4 * SocketAddressCache.MAX_ADDRESSES; i++) {
            InetSocketAddress address = peer(i);
            assertEquals(1024 + i % 5, address.getPort());
        }
        assertEquals(SocketAddressCache.MAX_ADDRESSES, cache.capacity());
        assertSame(peer(1), peer(1));
    }

    @Test
    void cachedAddressesEqualRequestedOnes() {
        assertEquals(new InetSocketAddress("10.0.0.7", 53), cache.get(0, MAPPED | 0x0a00_0007, 53, 0));
        assertEquals(new InetSocketAddress("2001:db8::7", 53), cache.get(0x2001_0db8_0000_0000L, 7, 53, 0));
        assertEquals(new InetSocketAddress("10.0.0.7", 54), cache.get(0, MAPPED | 0x0a00_0007, 54, 0));
    }

    /** A link-local sender address needs its link to be usable with another socket (RFC 4007 section 6). */
    @Test
    void linkLocalAddressesHaveScopeOfLink() {
        for (int link : new int[] {2, 3, 2}) {
            Inet6Address address = (Inet6Address) cache.get(0xfe80_0000_0000_0000L, 7, 53, link).getAddress();
            assertEquals(link, address.getScopeId());
            assertEquals(0, ((Inet6Address) cache.get(0x2001_0db8_0000_0000L, 7, 53, link).getAddress()).getScopeId());
        }
        assertEquals(53, cache.get(0xfe80_0000_0000_0000L, 7, 53, 2).getPort());
    }
}
