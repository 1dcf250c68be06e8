package io.rdmaraw.net.rtnetlink;

import static io.rdmaraw.net.Route.Placement.APPEND;
import static io.rdmaraw.net.Route.Placement.CREATE;
import static io.rdmaraw.net.Route.Placement.REPLACE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmaraw.net.IpAddress;
import io.rdmaraw.net.Link;
import io.rdmaraw.net.LocalAddress;
import io.rdmaraw.net.Neighbor;
import io.rdmaraw.net.NetworkSnapshot;
import io.rdmaraw.net.Route;
import org.junit.jupiter.api.Test;

import java.util.List;

/** The messages of the kernel must lead to the routes that the kernel has. */
class RtnetlinkStateTest {
    private static final int UP = 1 | 1 << 16;
    private static final int BLACKHOLE = 6;

    private final RtnetlinkState state = new RtnetlinkState();

    private static IpAddress ip(String text) {
        return IpAddress.parse(text);
    }

    private static Route route(String prefix, String gatewayOrNull, int link) {
        return route(prefix, Route.UNICAST, 256, Route.Origin.ANY, new Route.NextHop(link,
                gatewayOrNull == null ? null : ip(gatewayOrNull)));
    }

    private static Route route(String prefix, int type, long metric, Route.Origin origin, Route.NextHop... hops) {
        String[] parts = prefix.split("/");
        return new Route(ip(parts[0]), Integer.parseInt(parts[1]), Route.MAIN_TABLE, type, metric, null, 0, 0,
                List.of(hops), origin);
    }

    private static Route.Origin tos(int tos) {
        return new Route.Origin(tos, 0, 3, 0, 0);
    }

    private static Route.Origin advertised(int preference) {
        return new Route.Origin(0, 0, 9, 0, preference);
    }

    private List<Integer> linksTo(String destination) {
        return state.snapshot(1).routes().stream().filter(route -> route.destination().equals(ip(destination)))
                .flatMap(route -> route.nextHops().stream()).map(Route.NextHop::linkIndex).toList();
    }

    private void link(int index, int flags) {
        state.add(new Link(index, "eth" + index, 0x0200_0000_0000L + index, 1500, flags));
    }

    private int linkOf(String destination) {
        NetworkSnapshot.Path path = state.snapshot(1).path(ip(destination), 0);
        return path == null ? 0 : path.link().index();
    }

    private void add(Route route) {
        state.add(route, CREATE);
    }

    /** Every link has this route. Removing a link must not remove the routes of others. */
    @Test
    void everyLinkHasItsLinkLocalRoutes() {
        add(route("fe80::/64", null, 2));
        add(route("fe80::/64", null, 3));
        add(route("fe80::/64", null, 3));
        assertEquals(List.of(2, 3), linksTo("fe80::"));
        state.remove(route("fe80::/64", null, 3));
        assertEquals(List.of(2), linksTo("fe80::"));
        add(route("fe80::/64", null, 3));
        state.remove(route("fe80::/64", null, 2));
        assertEquals(List.of(3), linksTo("fe80::"));
    }

    @Test
    void routesWithTheSameKeyAreOrderedByTheirFlags() {
        add(route("10.1.0.0/16", null, 2));
        state.add(route("10.1.0.0/16", null, 3), APPEND);
        add(route("10.1.0.0/16", null, 4));
        assertEquals(List.of(4, 2, 3), linksTo("10.1.0.0"));
        state.add(route("10.1.0.0/16", null, 5), REPLACE);
        assertEquals(List.of(5, 2, 3), linksTo("10.1.0.0"), "the first with the key");
        state.remove(route("10.1.0.0/16", null, 2));
        assertEquals(List.of(5, 3), linksTo("10.1.0.0"));
        state.add(route("10.1.0.0/16", Route.UNICAST, 9, Route.Origin.ANY, new Route.NextHop(6, null)), APPEND);
        assertEquals(List.of(6, 5, 3), linksTo("10.1.0.0"), "the lower metric comes first");
    }

    @Test
    void aRouteOfAnotherTypeIsReplaced() {
        link(2, UP);
        for (String[] each : new String[][] {{"10.1.0.0/16", "10.9.0.1", "10.1.2.3"}, {"fd01::/16", "fe80::1",
            "fd01::3"}}) {
            Route usual = route(each[0], each[1], 2);
            add(usual);
            assertEquals(2, linkOf(each[2]));
            state.add(route(each[0], BLACKHOLE, 256, Route.Origin.ANY), REPLACE);
            assertEquals(0, linkOf(each[2]));
            state.add(usual, REPLACE);
            assertEquals(2, linkOf(each[2]));
            state.remove(usual);
            assertEquals(0, linkOf(each[2]));
            assertNull(state.snapshot(1).route(ip(each[2])));
        }
    }

    @Test
    void routeForATypeOfServiceDoesNotReplaceTheGeneralOne() {
        link(2, UP);
        link(3, UP);
        Route.NextHop other = new Route.NextHop(3, null);
        add(route("10.1.0.0/16", Route.UNICAST, 256, tos(0), new Route.NextHop(2, null)));
        add(route("10.1.0.0/16", Route.UNICAST, 256, tos(0x10), other));
        assertEquals(2, linkOf("10.1.2.3"));
        state.remove(route("10.1.0.0/16", Route.UNICAST, 256, tos(0x10), other));
        assertEquals(2, linkOf("10.1.2.3"));
    }

    @Test
    void routeForASourcePrefixRequiresKernelQueries() {
        Route fromPrefix = route("::/0", Route.UNICAST, 1024, new Route.Origin(0, 64, 3, 0, 0),
                new Route.NextHop(3, ip("fe80::b")));
        link(2, UP);
        add(route("::/0", "fe80::a", 2));
        add(fromPrefix);
        assertEquals(2, linkOf("2001:db8::1"));
        assertTrue(state.snapshot(1).hasPolicyRules());
        state.remove(fromPrefix);
        assertFalse(state.snapshot(1).hasPolicyRules());
    }

    /** A message about an IPv6 route through gateways contains all its next hops. */
    @Test
    void ipv6NextHopsAreAddedAndRemoved() {
        Route.NextHop first = new Route.NextHop(2, ip("fe80::a"));
        Route.NextHop second = new Route.NextHop(3, ip("fe80::b"));
        add(route("::/0", Route.UNICAST, 1024, Route.Origin.ANY, first));
        state.add(route("::/0", Route.UNICAST, 1024, Route.Origin.ANY, first, second), APPEND);
        assertEquals(List.of(2, 3), linksTo("::"));
        state.remove(route("::/0", Route.UNICAST, 1024, Route.Origin.ANY, first));
        assertEquals(List.of(3), linksTo("::"));
        state.add(route("::/0", Route.UNICAST, 1024, Route.Origin.ANY, first), REPLACE);
        assertEquals(List.of(2), linksTo("::"));
    }

    @Test
    void oneOfTwoAdvertisedRoutersIsRemoved() {
        link(2, UP);
        Route first = route("::/0", Route.UNICAST, 1024, advertised(0), new Route.NextHop(2, ip("fe80::a")));
        Route second = route("::/0", Route.UNICAST, 1024, advertised(1), new Route.NextHop(2, ip("fe80::b")));
        add(first);
        add(second);
        assertEquals(ip("fe80::b"), nextHopTo("2001:db8::1"), "the preferred router");
        state.remove(second);
        assertEquals(ip("fe80::a"), nextHopTo("2001:db8::1"));
    }

    @Test
    void routerThatDoesNotAnswerIsSkipped() {
        link(2, UP);
        add(route("::/0", Route.UNICAST, 1024, advertised(0), new Route.NextHop(2, ip("fe80::a"))));
        add(route("::/0", Route.UNICAST, 1024, advertised(0), new Route.NextHop(2, ip("fe80::b"))));
        assertEquals(ip("fe80::a"), nextHopTo("2001:db8::1"));
        state.add(new Neighbor(2, ip("fe80::a"), Neighbor.NO_MAC, Neighbor.FAILED));
        assertEquals(ip("fe80::b"), nextHopTo("2001:db8::1"));
        state.add(new Neighbor(2, ip("fe80::b"), Neighbor.NO_MAC, Neighbor.FAILED));
        assertEquals(ip("fe80::a"), nextHopTo("2001:db8::1"), "better than none");
    }

    private IpAddress nextHopTo(String destination) {
        return state.snapshot(1).path(ip(destination), 0).nextHop();
    }

    /** A notification of a route that a dump has already reported changes nothing. */
    @Test
    void repeatedRouteIsStoredOnce() {
        for (Route.Placement placement : Route.Placement.values()) {
            for (String prefix : List.of("10.1.0.0/16", "fd01::/16")) {
                state.add(route(prefix, null, 2), placement);
                state.add(route(prefix, null, 2), placement);
                assertEquals(List.of(2), linksTo(prefix.split("/")[0]), placement + " " + prefix);
            }
        }
    }

    @Test
    void otherNextHopIsUsedIfALinkIsDown() {
        link(2, UP);
        link(3, UP);
        add(route("10.0.0.0/8", null, 3));
        add(route("10.1.0.0/16", null, 2));
        assertEquals(2, linkOf("10.1.2.3"));
        link(2, 0);
        assertEquals(3, linkOf("10.1.2.3"), "a shorter prefix");
    }

    /** The kernel removes routes without reporting which. */
    @Test
    void routesAreOutdatedByLinkDownAndByAddressRemoval() {
        link(2, UP);
        assertFalse(state.areRoutesOutdated());
        link(2, 1);
        assertFalse(state.areRoutesOutdated(), "without a carrier they stay");
        link(2, 0);
        assertTrue(state.areRoutesOutdated());
        state.clearRoutes();
        assertFalse(state.areRoutesOutdated());
        LocalAddress address = new LocalAddress(2, ip("10.0.0.1"), 8, 0, 0);
        state.add(address, false);
        state.remove(address);
        assertTrue(state.areRoutesOutdated());
    }

    @Test
    void snapshotDoesNotChange() {
        link(2, UP);
        add(route("10.0.0.0/8", null, 2));
        NetworkSnapshot before = state.snapshot(1);
        add(route("10.1.0.0/16", "10.0.0.1", 2));
        state.remove(route("10.0.0.0/8", null, 2));
        assertEquals(ip("10.1.2.3"), before.path(ip("10.1.2.3"), 0).nextHop());
        assertEquals(1, before.routes().size());
        assertEquals(ip("10.0.0.1"), nextHopTo("10.1.2.3"));
        assertEquals(0, linkOf("10.2.2.3"));
    }

    /** Cached answers of the kernel remain valid. */
    @Test
    void neighborDoesNotChangeTheRouteGeneration() {
        link(2, UP);
        assertTrue(state.testAndClearChanged());
        long before = state.snapshot(1).routeGeneration();
        state.add(new Neighbor(2, ip("10.0.0.1"), 1, Neighbor.PERMANENT));
        assertTrue(state.testAndClearChanged());
        assertEquals(before, state.snapshot(2).routeGeneration());
        add(route("10.0.0.0/8", null, 2));
        assertTrue(state.testAndClearChanged());
        assertTrue(state.snapshot(3).routeGeneration() > before);
    }

    /** The kernel's IPv6 list begins with the newest address. The first of several equally good sources is used. */
    @Test
    void addressesHaveTheOrderOfTheKernel() {
        state.add(new LocalAddress(2, ip("2001:db8::2"), 64, 0, 0), true);
        state.add(new LocalAddress(2, ip("2001:db8::1"), 64, 0, 0), true);
        state.add(new LocalAddress(2, ip("10.0.0.1"), 24, 0, 0), true);
        for (String added : List.of("2001:db8::3", "2001:db8::1", "10.0.0.2", "2001:db8::4")) {
            IpAddress address = ip(added);
            state.add(new LocalAddress(2, address, address.isIpv4() ? 24 : 64, 0, 0), false);
        }
        assertEquals(List.of("2001:db8::4", "2001:db8::3", "2001:db8::2", "2001:db8::1", "10.0.0.1", "10.0.0.2")
                .stream().map(RtnetlinkStateTest::ip).toList(),
                state.snapshot(1).addresses().stream().map(LocalAddress::address).toList());
    }
}
