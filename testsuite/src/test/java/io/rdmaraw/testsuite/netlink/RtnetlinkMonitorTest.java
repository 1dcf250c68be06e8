package io.rdmaraw.testsuite.netlink;

import io.rdmaraw.host.IpHost;
import io.rdmaraw.host.kernel.KernelIpHost;
import io.rdmaraw.net.IcmpError;
import io.rdmaraw.net.IpAddress;
import io.rdmaraw.net.Link;
import io.rdmaraw.net.LocalAddress;
import io.rdmaraw.net.Neighbor;
import io.rdmaraw.net.NetworkSnapshot;
import io.rdmaraw.net.Route;
import io.rdmaraw.net.rtnetlink.RouteQuery;
import io.rdmaraw.net.rtnetlink.RtnetlinkMonitor;
import io.rdmaraw.net.socket.IcmpSocket;
import io.rdmaraw.net.socket.PortReservation;
import io.rdmaraw.testsuite.net.Await;
import io.rdmaraw.testsuite.net.NetworkNamespace;
import io.rdmaraw.testsuite.net.TestNetwork;
import io.rdmaraw.testsuite.net.VethPair;
import io.rdmaraw.testsuite.net.WithTestNetwork;
import io.rdmaraw.wire.IcmpErrorKind;
import io.rdmaraw.wire.IpProtocol;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.net.BindException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Predicate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

/** Changes a namespace with {@code ip} and checks that the monitor's snapshots match the kernel. */
@WithTestNetwork
class RtnetlinkMonitorTest {
    private static final int MORE_THAN_ARE_QUEUED = 40_000;

    private NetworkNamespace host;
    private VethPair pair;
    private RtnetlinkMonitor kernel;
    private RouteQuery routes;

    @BeforeEach
    void open(TestNetwork network) throws Exception {
        host = network.namespace();
        pair = network.vethPair(host, network.namespace());
        kernel = host.call(RtnetlinkMonitor::open);
        routes = host.call(RouteQuery::new);
    }

    @AfterEach
    void close() {
        routes.close();
        kernel.close();
    }

    private static IpAddress ip(String address) {
        return IpAddress.of(InetAddress.ofLiteral(address));
    }

    private void ip(String... arguments) {
        List<String> command = new ArrayList<>(List.of("ip"));
        command.addAll(List.of(arguments));
        host.run(command.toArray(String[]::new));
    }

    /** Reads notifications until the snapshot satisfies the condition. */
    private NetworkSnapshot await(String what, Predicate<NetworkSnapshot> condition) throws IOException {
        long deadline = System.nanoTime() + Await.PATIENCE.toNanos();
        while (!condition.test(kernel.snapshot())) {
            kernel.poll();
            assertTrue(System.nanoTime() - deadline < 0, "no notification of " + what + "; "
                    + host.run("ip", "neigh").output()
                    + kernel.snapshot());
            Thread.onSpinWait();
        }
        return kernel.snapshot();
    }

    private boolean hasAddress(NetworkSnapshot snapshot, String address) {
        return snapshot.addresses().stream().map(LocalAddress::address).anyMatch(ip(address)::equals);
    }

    @Test
    void readsLinksAndAddresses() {
        NetworkSnapshot snapshot = kernel.snapshot();
        Link link = snapshot.link(pair.ours().name());
        assertEquals(pair.ours().index(), link.index());
        assertEquals(pair.ours().mac().replace(":", ""), String.format("%012x", link.mac()));
        assertEquals(1500, link.mtuBytes());
        assertTrue(link.isUp());
        assertTrue(snapshot.link("lo").isLoopback());
        assertTrue(hasAddress(snapshot, pair.ours().ipv4()));
        assertTrue(hasAddress(snapshot, pair.ours().ipv6()));
        assertTrue(snapshot.isLocal(ip(pair.ours().ipv4())));
        assertTrue(snapshot.isLocal(ip(pair.ours().ipv6())));
        assertTrue(snapshot.isLocal(ip("127.1.2.3")));
        assertFalse(snapshot.isLocal(ip(pair.peer().ipv4())));
        for (String peer : new String[] {pair.peer().ipv4(), pair.peer().ipv6()}) {
            NetworkSnapshot.Path path = snapshot.path(ip(peer), 0);
            assertEquals(link, path.link());
            assertEquals(ip(peer), path.nextHop());
            assertEquals(ip(peer).isIpv4() ? ip(pair.ours().ipv4()) : ip(pair.ours().ipv6()), path.source());
        }
        assertNull(snapshot.path(ip("203.0.113.1"), 0));
    }

    /**
     * When the socket's buffer is full, the kernel drops notifications. It does not report when it resumes, so the
     * monitor must read everything again.
     */
    @Test
    void changeAfterLostNotificationsIsSeen(@TempDir Path directory) throws Exception {
        StringBuilder batch = new StringBuilder();
        for (int i = 0; i < MORE_THAN_ARE_QUEUED; i++) {
            batch.append("neigh replace 10.77.").append(i >> 8).append('.').append(i & 0xff)
                    .append(" lladdr 02:00:00:00:00:01 nud permanent dev ").append(pair.ours().name()).append('\n');
        }
        ip("-batch", Files.writeString(directory.resolve("batch"), batch).toString());
        assertEquals(0, kernel.overflows());
        assertTrue(kernel.poll());
        assertTrue(kernel.overflows() > 0);
        assertEquals(0x0200_0000_0001L, kernel.snapshot().neighbor(pair.ours().index(), ip("10.77.0.77")).mac());
        ip("address", "add", "10.88.1.1/24", "dev", pair.ours().name());
        await("an address", snapshot -> hasAddress(snapshot, "10.88.1.1"));
    }

    /** For every kind of route, the snapshot's lookup returns the same result as the kernel's own. */
    @Test
    void looksUpAsTheKernelDoes() throws Exception {
        String peer = pair.peer().ipv4();
        String device = pair.ours().name();
        ip("route", "add", "203.0.113.0/24", "via", peer);
        ip("route", "add", "203.0.113.128/25", "dev", device, "metric", "7");
        ip("route", "add", "203.0.113.128/26", "via", peer, "mtu", "1300");
        ip("route", "add", "default", "via", peer, "metric", "200");
        ip("route", "add", "blackhole", "198.51.100.0/24");
        ip("-6", "route", "add", "2001:db8:77::/48", "via", pair.peer().ipv6());
        ip("-6", "route", "add", "default", "via", pair.peer().ipv6());
        ip("addr", "add", "192.0.2.77/32", "dev", device);
        await("the routes", snapshot -> hasAddress(snapshot, "192.0.2.77")
                && snapshot.path(ip("2001:db8:1::1"), 0) != null);
        for (String target : new String[] {"203.0.113.1", "203.0.113.130", "203.0.113.250", "8.8.8.8", peer,
            "2001:db8:77::1", "2001:4860::1", pair.peer().ipv6(), "198.51.100.9", "192.0.2.77", "127.0.0.1"}) {
            Route asked = routes.query(ip(target), null, 0, false);
            NetworkSnapshot.Path path = kernel.snapshot().path(ip(target), 0);
            if (asked == null || asked.type() != Route.UNICAST) {
                assertNull(path, target + ": the kernel says " + asked);
                continue;
            }
            assertEquals(asked.nextHops().get(0).linkIndex(), path.link().index(), target);
            IpAddress gateway = asked.nextHops().get(0).gatewayOrNull();
            assertEquals(gateway == null ? ip(target) : gateway, path.nextHop(), target);
            assertEquals(asked.preferredSourceOrNull(), path.source(), target);
        }
        assertEquals(1300, kernel.snapshot().path(ip("203.0.113.130"), 0).mtuBytes());
    }

    /** Waits until the snapshot's path to an address matches the kernel's. */
    private void awaitAsKernel(String step, String target) throws IOException {
        Route asked = routes.query(ip(target), null, 0, false);
        IpAddress wanted = asked == null || asked.type() != Route.UNICAST ? null
                : asked.nextHops().getFirst().gatewayOrNull() == null ? ip(target)
                : asked.nextHops().getFirst().gatewayOrNull();
        await(step + ": " + target + " by " + wanted, snapshot -> {
            NetworkSnapshot.Path path = snapshot.path(ip(target), 0);
            return wanted == null ? path == null : path != null && wanted.equals(path.nextHop())
                    && asked.nextHops().getFirst().linkIndex() == path.link().index();
        });
    }

    /** Executes the commands one by one. After each, waits until the snapshot agrees with the kernel. */
    private void follow(String target, String... commands) throws IOException {
        for (String command : commands) {
            ip(command.split(" "));
            awaitAsKernel(command, target);
        }
    }

    @Test
    void routesAreReplacedByOthersOfAnyType() throws Exception {
        for (String[] each : new String[][] {{"-4", "203.0.113.0/24", "203.0.113.1", pair.peer().ipv4()},
            {"-6", "2001:db8:77::/48", "2001:db8:77::1", pair.peer().ipv6()}}) {
            String route = each[0] + " route ";
            String way = each[1] + " via " + each[3];
            for (String type : List.of("blackhole", "unreachable", "prohibit")) {
                follow(each[2], route + "add " + way, route + "replace " + type + " " + each[1],
                        route + "replace " + way, route + "del " + each[1], route + "add " + way,
                        route + "replace " + type + " " + each[1], route + "del " + type + " " + each[1]);
            }
        }
    }

    @Test
    void routesWithTheSamePrefixAndMetricAreAllKept(TestNetwork network) throws Exception {
        VethPair second = network.vethPair(host, network.namespace());
        String one = pair.ours().name();
        String two = second.ours().name();
        follow("203.0.113.10", "addr add 203.0.113.1/24 dev " + one, "addr add 203.0.113.2/24 dev " + two,
                "addr del 203.0.113.1/24 dev " + one, "addr add 203.0.113.1/24 dev " + one,
                "addr del 203.0.113.2/24 dev " + two, "addr del 203.0.113.1/24 dev " + one);
        follow("2001:db8:5::9", "addr add 2001:db8:5::1/64 nodad dev " + one, "addr add 2001:db8:5::2/64 nodad dev "
                + two, "addr del 2001:db8:5::1/64 dev " + one, "addr del 2001:db8:5::2/64 dev " + two);
        String peer = pair.peer().ipv4();
        follow("198.51.100.1", "route add 198.51.100.0/24 via " + peer, "route add 198.51.100.0/24 tos 0x10 via "
                + second.peer().ipv4(), "route del 198.51.100.0/24 tos 0x10", "route append 198.51.100.0/24 via "
                + second.peer().ipv4(), "route prepend 198.51.100.0/24 dev " + two, "route del 198.51.100.0/24 dev "
                + two, "route del 198.51.100.0/24 via " + peer, "route del 198.51.100.0/24");
    }

    @Test
    void routesThatTheKernelDropsSilentlyAreReadAgain(TestNetwork network) throws Exception {
        VethPair second = network.vethPair(host, network.namespace());
        String peer = pair.peer().ipv4();
        follow("203.0.113.1", "route add 203.0.113.0/24 via " + second.peer().ipv4() + " metric 10",
                "route add 203.0.113.0/24 via " + peer + " metric 20", "link set " + second.ours().name() + " down",
                "link set " + second.ours().name() + " up", "route flush 203.0.113.0/24");
        follow("203.0.113.1", "nexthop add id 7 via " + peer + " dev " + pair.ours().name(),
                "route add 203.0.113.0/24 nhid 7", "nexthop replace id 7 via " + second.peer().ipv4() + " dev "
                + second.ours().name(), "nexthop del id 7");
        follow("203.0.113.1", "addr add 192.0.2.9/32 dev lo", "route add 203.0.113.0/25 via " + peer
                + " src 192.0.2.9", "route add 203.0.113.0/24 via " + second.peer().ipv4(),
                "addr del 192.0.2.9/32 dev lo");
    }

    /**
     * The local table is consulted first. Where the kernel places it depends on the version and on whether a policy
     * rule has ever been added.
     */
    @Test
    void theLocalTableComesFirstAsInTheKernel() throws Exception {
        follow("10.77.1.1", "route add local 10.77.0.0/16 dev lo", "route add 10.77.1.1/32 via " + pair.peer().ipv4());
        follow("2001:db8:9::1", "-6 route add local 2001:db8:9::/64 dev lo", "-6 route add 2001:db8:9::1/128 via "
                + pair.peer().ipv6());
        follow("10.77.1.1", "rule add pref 100 fwmark 7 lookup 77", "rule del pref 100");
        follow("203.0.113.1", "route add 203.0.113.0/24 via " + pair.peer().ipv4() + " table default");
    }

    @Test
    void policyRulesForMarksAreAskedFor() throws Exception {
        for (String[] each : new String[][] {{"-4", "203.0.113.0/24", "203.0.113.1", pair.peer().ipv4()},
            {"-6", "2001:db8:77::/48", "2001:db8:77::1", pair.peer().ipv6()}}) {
            ip(each[0], "route", "add", each[1], "via", each[3], "table", "77");
            ip(each[0], "rule", "add", "fwmark", "0x80000001", "lookup", "77");
            IpAddress target = ip(each[2]);
            assertEquals(ip(each[3]),
                    routes.query(target, null, 0x8000_0001, false).nextHops().getFirst().gatewayOrNull());
            assertNull(routes.query(target, null, 0, false));
            assertNull(routes.query(target, null, 1, false));
        }
        await("the rules", NetworkSnapshot::hasPolicyRules);
    }

    @Test
    void hearsOfChanges() throws Exception {
        String device = pair.ours().name();
        ip("link", "set", device, "mtu", "1400");
        await("the MTU", snapshot -> snapshot.link(device).mtuBytes() == 1400);
        ip("addr", "add", "192.0.2.1/24", "dev", device);
        await("an address", snapshot -> hasAddress(snapshot, "192.0.2.1")
                && snapshot.path(ip("192.0.2.2"), 0) != null);
        ip("addr", "del", "192.0.2.1/24", "dev", device);
        await("its removal", snapshot -> !hasAddress(snapshot, "192.0.2.1")
                && snapshot.path(ip("192.0.2.2"), 0) == null);
        ip("route", "add", "203.0.113.0/24", "via", pair.peer().ipv4());
        await("a route", snapshot -> snapshot.path(ip("203.0.113.1"), 0) != null);
        ip("route", "replace", "203.0.113.0/24", "via", pair.peer().ipv4(), "mtu", "1200");
        await("another in its place", snapshot -> snapshot.path(ip("203.0.113.1"), 0).mtuBytes() == 1200);
        ip("route", "del", "203.0.113.0/24");
        await("its removal", snapshot -> snapshot.path(ip("203.0.113.1"), 0) == null);
        long before = kernel.snapshot().generation();
        pair.peer().down();
        await("the carrier", snapshot -> !snapshot.link(device).isUp());
        assertTrue(kernel.snapshot().generation() > before);
        assertNull(kernel.snapshot().path(ip(pair.peer().ipv4()), 0));
    }

    @Test
    void severalNextHopsAreRead() throws Exception {
        String device = pair.ours().name();
        ip("addr", "add", "192.0.2.1/24", "dev", device);
        ip("route", "add", "203.0.113.0/24", "nexthop", "via", "192.0.2.8", "dev", device, "nexthop", "via",
                "192.0.2.9", "dev", device);
        await("the route", snapshot -> snapshot.path(ip("203.0.113.1"), 0) != null);
        assertEquals(ip("192.0.2.8"), kernel.snapshot().path(ip("203.0.113.1"), 0).nextHop());
        assertEquals(ip("192.0.2.9"), kernel.snapshot().path(ip("203.0.113.1"), 1).nextHop());
    }

    @Test
    void theKernelResolvesNeighborsForUs() throws Exception {
        int link = pair.ours().index();
        // Solicitations that no packet triggers are sent from the link-local address (RFC 4861 section 7.2.2).
        ip("-6", "addr", "add", "fe80::1/64", "dev", pair.ours().name(), "nodad");
        for (String address : new String[] {pair.peer().ipv4(), pair.peer().ipv6()}) {
            kernel.solicit(link, ip(address));
            NetworkSnapshot snapshot = await("the neighbour", s -> s.neighbor(link, ip(address)) != null
                    && s.neighbor(link, ip(address)).isResolved());
            assertEquals(pair.peer().mac().replace(":", ""),
                    String.format("%012x", snapshot.neighbor(link, ip(address)).mac()));
        }
        String absent = pair.peer().ipv4().replaceAll("\\d+$", "199");
        ip("addr", "add", absent.replaceAll("\\d+$", "200") + "/24", "dev", pair.ours().name());
        kernel.solicit(link, ip(absent));
        await("that nobody answers", s -> s.neighbor(link, ip(absent)) != null
                && (s.neighbor(link, ip(absent)).state() & Neighbor.FAILED) != 0);
        assertFalse(kernel.snapshot().neighbor(link, ip(absent)).isResolved());
        ip("neigh", "replace", absent, "lladdr", "02:00:00:00:00:99", "dev", pair.ours().name());
        await("an entry made by hand", s -> s.neighbor(link, ip(absent)).mac() == 0x0200_0000_0099L);
        kernel.solicit(link, ip(absent));
        assertTrue(host.run("ip", "neigh", "show", absent).output().contains("PERMANENT"));
        ip("neigh", "del", absent, "dev", pair.ours().name());
        await("its removal", s -> s.neighbor(link, ip(absent)) == null
                || !s.neighbor(link, ip(absent)).isResolved());
    }

    /**
     * A router over a link that has no IPv6 address for a moment. The kernel's entry waits for its retransmission
     * timer, which the test sets to a minute.
     */
    @Test
    void neighborIsResolvedAsSoonAsTheLinkHasAnIpv6Address() throws Exception {
        String device = pair.ours().name();
        int link = pair.ours().index();
        IpAddress router = ip(pair.peer().ipv6());
        ip("-6", "addr", "flush", "dev", device);
        host.call(() -> Files.writeString(Path.of("/proc/sys/net/ipv6/neigh", device, "retrans_time_ms"), "60000"));
        IpHost shared = host.call(KernelIpHost::ofCallingThread);
        Await.until("no IPv6 address", () -> shared.snapshot().addresses().stream()
                .noneMatch(address -> address.linkIndex() == link && !address.address().isIpv4()));
        AtomicInteger refusals = new AtomicInteger();
        shared.solicit(link, router, refusals::incrementAndGet);
        Await.until("a refusal", () -> refusals.get() == 1);
        ip("-6", "addr", "add", "fe80::1/64", "dev", device, "nodad");
        Await.until("the address", () -> shared.snapshot().hasLinkLocalAddress(link));
        shared.solicit(link, router, refusals::incrementAndGet);
        Await.until("the neighbour", () -> shared.snapshot().neighbor(link, router) != null
                && shared.snapshot().neighbor(link, router).isResolved());
        assertEquals(1, refusals.get());
    }

    @Test
    void manyChangesAtOnceAreNotLost() throws Exception {
        String device = pair.ours().name();
        StringBuilder batch = new StringBuilder();
        for (int i = 0; i < 3000; i++) {
            batch.append("route add 203.").append(i / 250).append('.').append(i % 250).append(".0/24 dev ")
                    .append(device).append('\n');
        }
        Path file = Files.createTempFile("routes", ".batch");
        Files.writeString(file, batch);
        ip("-batch", file.toString());
        await("the last route", snapshot -> snapshot.path(ip("203.11.249.1"), 0) != null);
        long count = kernel.snapshot().routes().stream().filter(route -> route.prefixLength() == 24
                && route.destination().ipv4() >>> 24 == 203).count();
        assertEquals(3000, count);
        ip("route", "flush", "table", "main");
        await("the flush", snapshot -> snapshot.routes().stream().noneMatch(route -> route.destination().isIpv4()
                && route.table() == Route.MAIN_TABLE));
        Files.delete(file);
    }

    @Test
    void icmpErrorsAreSeen() throws Exception {
        try (IcmpSocket icmp = host.call(IcmpSocket::new)) {
            List<IcmpError> errors = new ArrayList<>();
            for (String peer : new String[] {pair.peer().ipv4(), pair.peer().ipv6()}) {
                InetSocketAddress gone = new InetSocketAddress(peer, 9);
                try (DatagramSocket sender = host.call(DatagramSocket::new)) {
                    sender.send(new DatagramPacket(new byte[4], 4, gone));
                    errors.clear();
                    awaitError(icmp, errors);
                    IcmpError error = errors.get(0);
                    assertEquals(IcmpErrorKind.PORT_UNREACHABLE, error.kind());
                    assertEquals(ip(peer), error.reporter());
                    assertEquals(ip(peer), error.destination());
                    assertEquals(9, error.destinationPort());
                    assertEquals(sender.getLocalPort(), error.sourcePort());
                    assertEquals(IpProtocol.UDP, error.protocol());
                    assertEquals(12, error.transportWord() >>> 16, "the UDP length");
                }
            }
        }
    }

    private static void awaitError(IcmpSocket icmp, List<IcmpError> errors) throws IOException {
        long deadline = System.nanoTime() + Await.PATIENCE.toNanos();
        while (icmp.poll(errors::add) == 0) {
            assertTrue(System.nanoTime() - deadline < 0, "no ICMP error came");
            Thread.onSpinWait();
        }
    }

    @Test
    void reservedPortsAreTaken() throws Exception {
        for (int protocol : new int[] {IpProtocol.UDP, IpProtocol.TCP}) {
            try (PortReservation placeholder = host.call(() ->
                    PortReservation.reserve(protocol, IpAddress.ANY_IPV6, true, 0, 0))) {
                int port = placeholder.port();
                assertTrue(port > 0);
                for (IpAddress address : List.of(IpAddress.ANY_IPV6, IpAddress.ANY_IPV4, ip(pair.ours().ipv4()))) {
                    assertThrows(BindException.class, () -> host.call(() ->
                            PortReservation.reserve(protocol, address, true, port, 0)), address.toString());
                }
            }
        }
        assertThrows(BindException.class, () -> host.call(() ->
                PortReservation.reserve(IpProtocol.UDP, ip("203.0.113.1"), false, 0, 0)));
        try (PortReservation own = host.call(() ->
                PortReservation.reserve(IpProtocol.UDP, ip(pair.ours().ipv6()), false, 5353, 0))) {
            assertEquals(5353, own.port());
            assertNotNull(host.call(() -> {
                PortReservation other = PortReservation.reserve(IpProtocol.UDP, ip(pair.ours().ipv4()), false, 5353, 0);
                other.close();
                return other;
            }));
        }
    }
}
