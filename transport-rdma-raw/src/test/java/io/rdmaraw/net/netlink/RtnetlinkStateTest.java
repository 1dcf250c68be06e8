package io.rdmaraw.net.netlink;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.rdmaraw.net.IpAddress;
import io.rdmaraw.net.Route;
import org.junit.jupiter.api.Test;

import java.util.List;

class RtnetlinkStateTest {
    private final RtnetlinkState state = new RtnetlinkState();

    private static Route route(String destination, int prefixLength, int link) {
        return new Route(IpAddress.parse(destination), prefixLength, Route.MAIN_TABLE, Route.UNICAST, 256, null, 0,
                List.of(new Route.NextHop(link, null)));
    }

    private List<Integer> linksTo(String destination) {
        return state.snapshot(1).routes().stream().filter(route -> route.destination()
                .equals(IpAddress.parse(destination))).map(route -> route.nextHops().getFirst().linkIndex()).toList();
    }

    /** Every link has the route, and one that goes takes nobody else's along. */
    @Test
    void eachLinkHasLinkLocalRoutesOfItsOwn() {
        state.add(route("fe80::", 64, 2));
        state.add(route("fe80::", 64, 3));
        state.add(route("fe80::", 64, 3));
        assertEquals(List.of(2, 3), linksTo("fe80::"));
        state.remove(route("fe80::", 64, 3));
        assertEquals(List.of(2), linksTo("fe80::"));
        state.add(route("fe80::", 64, 3));
        state.remove(route("fe80::", 64, 2));
        assertEquals(List.of(3), linksTo("fe80::"));
    }

    @Test
    void otherRoutesTakeTheOnesBefore() {
        state.add(route("10.1.0.0", 16, 2));
        state.add(route("10.1.0.0", 16, 3));
        assertEquals(List.of(3), linksTo("10.1.0.0"));
    }
}
