package io.rdmaraw.testsuite.hostmodel;

import io.rdmaraw.testsuite.net.Await;
import io.rdmaraw.testsuite.net.TestNetwork;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/**
 * The pair of hosts and their peers. A lab is used for many scenarios, each of which starts with {@link #reset}. Used
 * by one thread.
 */
final class Lab implements AutoCloseable {
    private static final AtomicInteger COUNTER = new AtomicInteger();
    private static final long PAUSE_NANOS = 20_000;
    /** Number of attempts. A flush ends early if one of the routes disappears concurrently. */
    private static final int RESETS = 3;
    private static final long CHANGE_LIMIT_NANOS = Await.PATIENCE.toNanos();

    private final TestNetwork network;
    private final Flavor flavor;
    private final Side ours;
    private final Side twin;
    private final boolean[] isDown = new boolean[Side.LINKS];
    private List<String> firstRoutes = List.of();
    private String reversePathFilter = "";
    private int nextId = 20_000;

    Lab(Flavor flavor) throws Exception {
        this.flavor = flavor;
        network = new TestNetwork("host-model", Path.of("target", "captures").toAbsolutePath()).withoutCapture();
        int number = COUNTER.getAndIncrement();
        ours = new Side(network, number, flavor, true);
        twin = new Side(network, number, flavor, false);
    }

    Flavor flavor() {
        return flavor;
    }

    Side ours() {
        return ours;
    }

    Side twin() {
        return twin;
    }

    /** Returns a number for a probe, which is also a port. */
    int newId() {
        nextId = nextId >= 59_999 ? 20_000 : nextId + 1;
        return nextId;
    }

    /**
     * Resets both hosts to the initial state of a scenario. Returns whether both have the routes of the first reset,
     * and our program knows them.
     */
    boolean reset() throws Exception {
        List<String> commands = resetCommands();
        for (int i = 0; i < RESETS; i++) {
            java.util.Arrays.fill(isDown, false);
            apply(commands);
            setReversePathFilter("0");
            if (firstRoutes.isEmpty()) {
                firstRoutes = ours.routes(false);
            }
            if (ours.routes(false).equals(firstRoutes) && twin.routes(false).equals(firstRoutes)) {
                ours.program().forget();
                twin.program().forget();
                if (!hasSameRoutes()) {
                    ours.rereadAll();
                }
                return hasSameRoutes();
            }
        }
        return false;
    }

    /** Returns the routes of both hosts that differ from the initial ones, for an error message. */
    String routes() throws Exception {
        List<String> ofOurs = new ArrayList<>(ours.routes(false));
        List<String> ofTwin = new ArrayList<>(twin.routes(false));
        List<String> known = new ArrayList<>(ours.routes(true));
        ofOurs.removeAll(firstRoutes);
        ofTwin.removeAll(firstRoutes);
        known.removeAll(firstRoutes);
        return "ours " + ofOurs + ", twin " + ofTwin + ", known " + known;
    }

    private static List<String> resetCommands() {
        List<String> lines = new ArrayList<>();
        for (String family : List.of("", "-6 ")) {
            for (int pref = 100; pref < 108; pref++) {
                lines.add(family + "rule del pref " + pref);
            }
            for (String table : List.of("main", "100")) {
                lines.add(family + "route flush table " + table);
            }
            lines.add(family + "addr flush dev lo scope global");
            for (int i = 0; i < Side.LINKS; i++) {
                lines.add(family + "addr flush dev up" + i);
                for (String router : HostGenerator.routers(i)) {
                    if (router.contains(":") != family.isEmpty() && !(i == 2 && family.isEmpty())) {
                        // Our program remembers the MAC address of a deleted entry, so each entry is first reset to its
                        // default MAC address.
                        lines.add("neigh replace " + router + " lladdr "
                                + Macs.text(Macs.of(i, Frame.ofText(router))) + " dev up" + i);
                    }
                }
                lines.add(family + "neigh flush dev up" + i + " nud all");
            }
        }
        lines.add("nexthop flush");
        for (int i = 0; i < Side.LINKS; i++) {
            lines.add("link set up" + i + " up mtu 1500");
            lines.addAll(fence(i));
        }
        return lines;
    }

    /**
     * Returns commands that add an address and a peer for fences on a link: datagrams that show when the host has
     * processed all earlier packets.
     */
    static List<String> fence(int link) {
        List<String> lines = new ArrayList<>(List.of(
                "addr replace " + fenceHost(link) + "/30 dev up" + link + " scope link",
                "neigh replace " + fencePeer(link) + " lladdr "
                        + Macs.text(Macs.of(link, Frame.ofText(fencePeer(link)))) + " dev up" + link
                        + " nud permanent"));
        if (link == 0) {
            // A device sends multicast packets on its own link.
            lines.add("route replace 239.0.0.0/8 dev up0");
            lines.add("route replace 255.255.255.255 dev up0");
            lines.add("-6 route replace multicast ff00::/8 dev up0 table local metric 128");
        }
        return lines;
    }

    static String fenceHost(int link) {
        return "10.99." + link + ".1";
    }

    static String fencePeer(int link) {
        return "10.99." + link + ".2";
    }

    /** Sets {@code rp_filter} of all links. */
    void setReversePathFilter(String value) {
        if (!value.equals(reversePathFilter)) {
            ours.set("ipv4/conf/all/rp_filter", value);
            twin.set("ipv4/conf/all/rp_filter", value);
            reversePathFilter = value;
        }
    }

    /** Runs commands on both hosts. Returns when the programs of both know the result. */
    void apply(List<String> commands) {
        for (String command : commands) {
            for (int i = 0; i < Side.LINKS; i++) {
                if (command.startsWith("link set up" + i + " up")) {
                    isDown[i] = false;
                } else if (command.equals("link set up" + i + " down")) {
                    isDown[i] = true;
                }
            }
        }
        ours.change(commands);
        twin.change(commands);
        awaitChange("the marker");
        for (int i = 0; i < Side.LINKS; i++) {
            int link = i;
            await("the carrier of up" + i, () -> ours.isChanged() && twin.isChanged()
                    && ours.isUp(link) == !isDown(link) && twin.isUp(link) == !isDown(link));
        }
        // Notifications about the carrier arrive after the commands, but before this marker.
        ours.change(List.of());
        twin.change(List.of());
        awaitChange("the second marker");
        ours.program().awaitTasks();
        ours.program().awaitTasks();
    }

    private void awaitChange(String what) {
        await(what, () -> ours.isChanged() & twin.isChanged());
    }

    private void await(String what, BooleanSupplier condition) {
        long deadline = System.nanoTime() + CHANGE_LIMIT_NANOS;
        while (!condition.getAsBoolean()) {
            ours.read((frame, link) -> { });
            twin.read((frame, link) -> { });
            if (System.nanoTime() - deadline > 0) {
                throw new IllegalStateException("waited for " + what + "; ours: " + ours + ", twin: " + twin);
            }
            LockSupport.parkNanos(PAUSE_NANOS);
        }
    }

    /** Returns whether a link has no carrier, because it or its lower link is down. */
    boolean isDown(int link) {
        return isDown[link] || link == 2 && flavor.third.equals("macvlan") && isDown[1];
    }

    /** Returns whether the routes that our host knows are those of the kernel. */
    boolean hasSameRoutes() throws Exception {
        return ours.routes(true).equals(ours.routes(false));
    }

    @Override
    public void close() {
        ours.close();
        twin.close();
        network.close();
    }
}
