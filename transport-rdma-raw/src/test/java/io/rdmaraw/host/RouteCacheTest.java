package io.rdmaraw.host;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;

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

    private final List<String> asked = new ArrayList<>();
    private final RouteCache cache = new RouteCache(new AskedHost());

    /** A host whose second address leads by a link of its own, and from the first one there is no way. */
    private final class AskedHost implements IpHost {
        @Override
        public NetworkSnapshot snapshot() {
            throw new AssertionError("it is given");
        }

        @Override
        public NetworkSnapshot.Path path(NetworkSnapshot snapshot, IpAddress destination, IpAddress sourceOrNull) {
            asked.add(destination + " from " + sourceOrNull);
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
        NetworkSnapshot.Path path = cache.path(snapshot, PEER, SECOND);
        assertSame(path, cache.path(snapshot, PEER, SECOND));
        assertEquals(List.of("198.51.100.7 from 10.0.1.1"), asked);
        assertNull(cache.path(snapshot, PEER, FIRST));
        assertNull(cache.path(snapshot, PEER, FIRST));
        assertEquals(2, asked.size(), "that there is none is known too");
        assertSame(path, cache.path(snapshot, PEER, SECOND), "the source tells them apart");
        cache.path(Snapshots.withPolicyRules(2), PEER, SECOND);
        assertEquals(3, asked.size(), "the network has changed");
    }
}
