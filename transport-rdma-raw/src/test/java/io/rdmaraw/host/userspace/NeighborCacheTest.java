package io.rdmaraw.host.userspace;

import io.rdmaraw.net.IpAddress;
import io.rdmaraw.net.Link;
import io.rdmaraw.net.Neighbor;
import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.TimeUnit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

/** Neighbours and the choice of routers of a userspace host, in virtual time. */
class NeighborCacheTest {
    private static final IpAddress[] ROUTERS4 = {IpAddress.parse("10.0.0.1"), IpAddress.parse("10.0.0.2")};
    private static final IpAddress[] ROUTERS6 = {IpAddress.parse("fd00::1"), IpAddress.parse("fd00::2")};
    private static final Set<IpAddress> ROUTERS = Set.of(ROUTERS4[0], ROUTERS4[1], ROUTERS6[0], ROUTERS6[1]);
    private static final long MAC = 0x02_00_00_00_00_0aL;
    private static final long SECOND = TimeUnit.SECONDS.toNanos(1);
    private static final Link LINK = new Link(UserspaceHostEngine.LINK_INDEX, "own0", MAC, 1500,
            UserspaceSnapshots.LINK_FLAGS);

    private final Set<IpAddress> answering = new HashSet<>();
    private final List<IpAddress> asked = new ArrayList<>();
    private final NeighborCache cache = new NeighborCache((target, mac) -> asked.add(target), ROUTERS::contains,
            new Random(3));
    /** Starts below zero and passes zero, which must have no special meaning. */
    private long nowNanos = -20 * SECOND;

    private IpAddress nextHop(IpAddress[] routers) {
        boolean ipv4 = routers[0].isIpv4();
        return UserspaceSnapshots.snapshot(1, LINK, List.of(UserspaceAddress.parse("10.0.0.9/8"),
                UserspaceAddress.parse("fd00::9/64")),
                List.of(routers), new LearnedRouters(), cache)
                .path(IpAddress.parse(ipv4 ? "192.0.2.1" : "2001:db8::1"), 0).nextHop();
    }

    /** Advances the time and runs due actions. */
    private void pass(long nanos) {
        long end = nowNanos + nanos;
        while (cache.deadlineNanos() != Long.MAX_VALUE && cache.deadlineNanos() - end <= 0) {
            nowNanos = Math.max(nowNanos, cache.deadlineNanos());
            cache.poll(nowNanos);
            asked.stream().filter(answering::contains)
                    .forEach(host -> cache.onAdvertisement(host, MAC, true, true, nowNanos));
            asked.clear();
        }
        nowNanos = end;
    }

    @Test
    void unreachableRouterIsSkippedUntilItAnswers() {
        for (IpAddress[] routers : new IpAddress[][] {ROUTERS4, ROUTERS6}) {
            assertEquals(routers[0], nextHop(routers), "the first as long as nothing is known");
            cache.recordUse(routers[0], nowNanos);
            cache.onAdvertisement(routers[0], MAC, true, true, nowNanos);
            pass(60 * SECOND);
            assertEquals(routers[0], nextHop(routers));
            cache.testAndClearChanged();
            cache.recordUse(routers[0], nowNanos);
            pass(5 * SECOND + 3 * SECOND);
            assertTrue(cache.testAndClearChanged(), "whoever sends is told");
            assertEquals(routers[1], nextHop(routers), "it does not answer any more");
            pass(5 * SECOND);
            assertEquals(routers[1], nextHop(routers), "though the cache has forgotten it");
            cache.recordUse(routers[1], nowNanos);
            pass(4 * SECOND);
            assertEquals(routers[0], nextHop(routers), "of two dead routers the first, as before");
            cache.learn(routers[1], MAC);
            assertEquals(routers[1], nextHop(routers));
            cache.testAndClearChanged();
            answering.add(routers[0]);
            pass(10 * SECOND);
            assertTrue(cache.testAndClearChanged());
            assertEquals(routers[0], nextHop(routers), "it was tried again, and has answered");
        }
    }

    @Test
    void floodOfSolicitationsDoesNotEvictNeighborsInUse() {
        IpAddress used = IpAddress.parse("10.1.0.1");
        cache.learn(ROUTERS4[0], MAC);
        cache.learn(used, MAC);
        cache.recordUse(used, nowNanos);
        for (int i = 0; i < 20_000; i++) {
            cache.learn(IpAddress.ipv4(0x0a02_0000 + i), MAC + 1);
        }
        List<Neighbor> neighbors = cache.neighbors(1);
        assertEquals(8192, neighbors.size(), "it is bounded");
        assertTrue(neighbors.stream().anyMatch(neighbor -> neighbor.address().equals(ROUTERS4[0])), "the router");
        assertTrue(neighbors.stream().anyMatch(neighbor -> neighbor.address().equals(used)), "a host that is sent to");
    }

    @Test
    void leastRecentlyUsedNeighborIsEvicted() {
        for (int i = 0; i < 8192; i++) {
            IpAddress host = IpAddress.ipv4(0x0a02_0000 + i);
            cache.learn(host, MAC);
            cache.recordUse(host, nowNanos);
        }
        IpAddress first = IpAddress.ipv4(0x0a02_0000);
        cache.recordUse(first, nowNanos);
        cache.learn(ROUTERS4[0], MAC);
        cache.recordUse(ROUTERS4[0], nowNanos);
        List<Neighbor> neighbors = cache.neighbors(1);
        assertEquals(8192, neighbors.size());
        assertTrue(neighbors.stream().anyMatch(neighbor -> neighbor.address().equals(first)));
        assertTrue(neighbors.stream().noneMatch(neighbor -> neighbor.address().equals(IpAddress.ipv4(0x0a02_0001))));
    }
}
