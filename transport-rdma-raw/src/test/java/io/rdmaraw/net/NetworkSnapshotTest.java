package io.rdmaraw.net;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.net.InetAddress;
import java.util.ArrayList;
import java.util.List;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

class NetworkSnapshotTest {
    private static final int UP = 1 | 1 << 16;

    private final List<Link> links = new ArrayList<>(List.of(new Link(2, "eth0", 0x0200_0000_0001L, 1500, UP),
            new Link(3, "eth1", 0x0200_0000_0002L, 9000, UP), new Link(4, "down", 0x0200_0000_0003L, 1500, 1)));
    private final List<LocalAddress> addresses = new ArrayList<>();
    private final List<Route> routes = new ArrayList<>();
    private final List<Neighbor> neighbors = new ArrayList<>();

    private static IpAddress ip(String address) {
        return IpAddress.of(InetAddress.ofLiteral(address));
    }

    private void route(String prefix, int link, String gatewayOrNull, long metric) {
        String[] parts = prefix.split("/");
        routes.add(new Route(ip(parts[0]), Integer.parseInt(parts[1]), Route.MAIN_TABLE, Route.UNICAST, metric, null, 0,
                List.of(new Route.NextHop(link, gatewayOrNull == null ? null : ip(gatewayOrNull)))));
    }

    private void address(int link, String address, int prefixLength, int scope, int flags) {
        addresses.add(new LocalAddress(link, ip(address), prefixLength, scope, flags));
    }

    private NetworkSnapshot snapshot() {
        return new NetworkSnapshot(1, links, addresses, routes, neighbors, false);
    }

    @ParameterizedTest
    @CsvSource({"10.1.2.3,10.1.2.3,2", "10.1.200.3,10.1.0.9,3", "10.9.9.9,10.0.0.254,2", "8.8.8.8,10.0.0.1,2",
        "2001:db8::5,2001:db8::5,3", "2001:db8:1::5,fe80::1,2"})
    void theLongestPrefixDecides(String destination, String nextHop, int link) {
        route("0.0.0.0/0", 2, "10.0.0.1", 0);
        route("10.0.0.0/8", 2, "10.0.0.254", 0);
        route("10.1.0.0/16", 3, "10.1.0.9", 0);
        route("10.1.2.0/25", 2, null, 0);
        route("::/0", 2, "fe80::1", 0);
        route("2001:db8::/48", 3, null, 0);
        address(2, "10.1.2.1", 25, 0, 0);
        address(3, "10.1.0.1", 16, 0, 0);
        address(2, "2001:db8:2::1", 64, 0, 0);
        address(3, "2001:db8::1", 64, 0, 0);
        NetworkSnapshot.Path path = snapshot().path(ip(destination), 0);
        assertEquals(ip(nextHop), path.nextHop());
        assertEquals(link, path.link().index());
    }

    @Test
    void anAddressIsServedByItsLinkOrByAnyWhenTheLoopbackHasIt() {
        Link loopback = new Link(1, "lo", 0, 65536, UP | 8);
        Link eth1 = links.get(links.size() - 2);
        links.add(loopback);
        address(2, "10.0.0.1", 8, 0, 0);
        address(3, "10.0.0.2", 8, 0, 0);
        address(1, "127.0.0.1", 8, 254, 0);
        address(1, "192.0.2.53", 32, 0, 0);
        NetworkSnapshot snapshot = snapshot();
        assertTrue(snapshot.isServedBy(eth1, ip("10.0.0.2")));
        assertFalse(snapshot.isServedBy(eth1, ip("10.0.0.1")), "another link's");
        assertTrue(snapshot.isServedBy(eth1, ip("192.0.2.53")), "routed to this host");
        assertFalse(snapshot.isServedBy(eth1, ip("127.0.0.1")), "never on a wire");
        assertFalse(snapshot.isServedBy(eth1, ip("10.0.0.3")), "nobody's here");
    }

    @Test
    void theLowestMetricDecidesAmongEquals() {
        route("10.0.0.0/8", 2, null, 100);
        route("10.0.0.0/8", 3, null, 50);
        address(2, "10.0.0.1", 8, 0, 0);
        address(3, "10.0.0.2", 8, 0, 0);
        assertEquals(3, snapshot().path(ip("10.5.5.5"), 0).link().index());
    }

    @Test
    void ipv4DoesNotUseIpv6Routes() {
        route("::/0", 2, "fe80::1", 0);
        address(2, "10.0.0.1", 8, 0, 0);
        assertNull(snapshot().path(ip("8.8.8.8"), 0));
        assertNull(snapshot().route(ip("8.8.8.8")));
    }

    @Test
    void linkWithoutCarrierHasNoPath() {
        route("10.0.0.0/8", 4, null, 0);
        address(4, "10.0.0.1", 8, 0, 0);
        assertNull(snapshot().path(ip("10.0.0.2"), 0));
    }

    /** A route with a shorter prefix would lead to another host. */
    @Test
    void aRouteOfALinkWithoutCarrierHidesShorterPrefixes() {
        route("::/0", 2, "fe80::1", 0);
        route("0.0.0.0/0", 2, "10.0.0.1", 0);
        route("2001:db8:2::/64", 4, null, 0);
        route("10.2.0.0/16", 4, null, 0);
        address(2, "2001:db8::1", 64, 0, 0);
        address(2, "10.0.0.5", 24, 0, 0);
        assertNull(snapshot().path(ip("2001:db8:2::5"), 0));
        assertNull(snapshot().path(ip("10.2.0.5"), 0));
    }

    @Test
    void flowsAreDistributedOverNextHopsConsistently() {
        routes.add(new Route(IpAddress.ANY_IPV4, 0, Route.MAIN_TABLE, Route.UNICAST, 0, null, 0, List.of(
                new Route.NextHop(2, ip("10.0.0.1")), new Route.NextHop(3, ip("10.0.0.2")))));
        address(2, "10.0.0.5", 24, 0, 0);
        address(3, "10.0.0.6", 24, 0, 0);
        NetworkSnapshot snapshot = snapshot();
        assertEquals(snapshot.path(ip("8.8.8.8"), 6), snapshot.path(ip("8.8.8.8"), 6));
        assertNotEquals(snapshot.path(ip("8.8.8.8"), 6), snapshot.path(ip("8.8.8.8"), 7));
    }

    /** A router on a link without an IPv6 address can be used only if its MAC address is known. */
    @Test
    void nextHopThatCannotBeSolicitedIsNotUsed() {
        routes.add(new Route(IpAddress.ANY_IPV6, 0, Route.MAIN_TABLE, Route.UNICAST, 0, null, 0, List.of(
                new Route.NextHop(2, ip("2001:db8::2")), new Route.NextHop(2, ip("2001:db8::3")))));
        address(3, "2001:db8:1::1", 64, 0, 0);
        neighbors.add(new Neighbor(2, ip("2001:db8::3"), 0x0200_0000_0009L, Neighbor.PERMANENT));
        assertEquals(ip("2001:db8::3"), snapshot().path(ip("2001:db8:f0::7"), 0).nextHop());
        assertEquals(ip("2001:db8::3"), snapshot().path(ip("2001:db8:f0::7"), 1).nextHop());
        address(2, "fe80::1", 64, 253, 0);
        assertNotEquals(snapshot().path(ip("2001:db8:f0::7"), 0), snapshot().path(ip("2001:db8:f0::7"), 1));
    }

    @Test
    void theSourceFitsTheDestination() {
        route("::/0", 2, "fe80::1", 0);
        route("fe80::/64", 2, null, 0);
        address(2, "fe80::5", 64, 253, 0);
        address(2, "2001:db8::dead", 64, 0, 0x20);
        address(2, "2001:db8::1", 64, 0, 0);
        address(2, "2001:db8::2", 64, 0, 0x40);
        address(2, "2001:db8:ffff::1", 64, 0, 0);
        assertEquals(ip("2001:db8::1"), snapshot().path(ip("2001:db8::77"), 0).source());
        assertEquals(ip("2001:db8:ffff::1"), snapshot().path(ip("2001:db8:ffff::77"), 0).source());
        assertEquals(ip("fe80::5"), snapshot().path(ip("fe80::77"), 0).source());
    }

    /**
     * {@code inet_select_addr}: prefers the gateway's subnet, and skips secondary addresses and those of a
     * narrower scope.
     */
    @Test
    void sourceOfIpv4IsTheFirstOneOfTheRoutesScope() {
        route("0.0.0.0/0", 2, "10.0.7.2", 0);
        route("203.0.113.0/24", 2, null, 0);
        route("198.51.100.0/24", 3, "10.3.0.2", 0);
        address(2, "10.0.9.1", 24, 253, 0);
        address(2, "10.0.0.1", 24, 0, 0);
        address(2, "10.0.7.1", 24, 0, 0);
        address(2, "10.0.7.2", 24, 0, 1);
        links.add(new Link(1, "lo", 0, 65536, UP | 8));
        address(1, "127.0.0.1", 8, 254, 0);
        address(1, "192.0.2.77", 32, 0, 0);
        assertEquals(ip("10.0.7.1"), snapshot().path(ip("8.8.8.8"), 0).source());
        assertEquals(ip("10.0.0.1"), snapshot().path(ip("203.0.113.5"), 0).source());
        assertEquals(ip("192.0.2.77"), snapshot().path(ip("198.51.100.5"), 0).source());
        assertEquals(ip("10.0.7.1"), snapshot().groupSource(links.getFirst(), ip("239.1.1.1")));
    }

    @ParameterizedTest
    @CsvSource({"ff0e::1,2001:db8::1", "ff05::1,2001:db8::1", "ff02::1,fe80::5", "2001:db8:9::1,2001:db8::1",
        "fd00:1::9,fd00::1", "2002:a00:1::1,2002:a00:2::1"})
    void scopeAndLabelOfTheSourceFit(String destination, String source) {
        route("::/0", 2, "fe80::1", 0);
        address(2, "fe80::5", 64, 253, 0);
        address(2, "2001:db8::dead", 64, 0, 0x20);
        address(2, "2001:db8::1", 64, 0, 0);
        address(2, "fd00::1", 64, 0, 0);
        address(2, "2002:a00:2::1", 64, 0, 0);
        NetworkSnapshot snapshot = snapshot();
        assertEquals(ip(source), ip(destination).isMulticast() ? snapshot.groupSource(links.getFirst(), ip(destination))
                : snapshot.path(ip(destination), 0).source());
    }

    @Test
    void aBroadcastComesFromAnAddressOfItsSubnet() {
        address(2, "10.0.0.1", 24, 0, 0);
        address(2, "10.0.7.1", 24, 0, 0);
        routes.add(new Route(ip("10.0.7.255"), 32, Route.LOCAL_TABLE, Route.BROADCAST, 0, ip("10.0.7.1"), 0,
                List.of(new Route.NextHop(2, null))));
        assertEquals(ip("10.0.7.1"), snapshot().groupSource(links.getFirst(), ip("10.0.7.255")));
        assertEquals(ip("10.0.0.1"), snapshot().groupSource(links.getFirst(), IpAddress.BROADCAST));
    }

    @Test
    void aRouteCanLimitTheMtu() {
        routes.add(new Route(ip("10.0.0.0"), 8, Route.MAIN_TABLE, Route.UNICAST, 0, ip("10.0.0.9"), 1300,
                List.of(new Route.NextHop(3, null))));
        NetworkSnapshot.Path path = snapshot().path(ip("10.0.0.2"), 0);
        assertEquals(1300, path.mtuBytes());
        assertEquals(ip("10.0.0.9"), path.source());
    }

    @Test
    void localRoutesAreNotPaths() {
        routes.add(new Route(ip("10.0.0.9"), 32, Route.LOCAL_TABLE, Route.LOCAL, 0, ip("10.0.0.9"), 0,
                List.of(new Route.NextHop(1, null))));
        assertTrue(snapshot().isLocal(ip("10.0.0.9")));
        assertNull(snapshot().path(ip("10.0.0.9"), 0));
    }
}
