package io.rdmaraw.testsuite.hostmodel;

import io.rdmaraw.host.IpHost;
import io.rdmaraw.host.kernel.KernelIpHost;
import io.rdmaraw.net.IpAddress;
import io.rdmaraw.net.Neighbor;
import io.rdmaraw.net.NetworkSnapshot;
import io.rdmaraw.net.Route;
import io.rdmaraw.net.rtnetlink.RouteQuery;
import io.rdmaraw.net.rtnetlink.RtnetlinkMonitor;
import io.rdmaraw.testsuite.net.Await;
import io.rdmaraw.testsuite.net.NetworkNamespace;
import io.rdmaraw.testsuite.net.PacketPort;
import io.rdmaraw.testsuite.net.TestNetwork;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.ObjIntConsumer;

/** One of the two hosts: its namespace with its links, the far ends of the links, and its program. */
final class Side implements AutoCloseable {
    static final int LINKS = 3;
    /** {@code RTN_MULTICAST}. */
    private static final int MULTICAST = 5;
    private static final Duration LIMIT = Await.PATIENCE;
    private static final IpAddress MARKER4 = IpAddress.parse("192.0.2.1");
    private static final IpAddress MARKER6 = IpAddress.parse("2001:db8:ffff::1");
    private static final List<String> IPV4_SETTINGS = List.of("accept_local 0", "route_localnet 0",
            "log_martians 0", "accept_redirects 0", "send_redirects 0", "rp_filter 0");
    private static final List<String> IPV6_SETTINGS = List.of("accept_dad 0", "dad_transmits 0", "addr_gen_mode 1",
            "router_solicitations 0", "accept_redirects 0", "autoconf 0", "accept_ra 1");
    /** Generous limits, because the harness may answer late on a busy machine. */
    private static final List<String> NEIGHBOR_SETTINGS = List.of("mcast_solicit 10", "ucast_solicit 10",
            "retrans_time_ms 500", "delay_first_probe_time 1");

    private final NetworkNamespace namespace;
    private final int number;
    private final Flavor flavor;
    private final List<Wire> wires = new ArrayList<>();
    private final IpBatch batch4;
    private final IpBatch batch6;
    private final RtnetlinkMonitor monitor;
    /** The network state of the program on the device; null for the host with kernel sockets. */
    private final IpHost followerOrNull;
    private final NettyHost program;
    private volatile NetworkSnapshot followed;
    private IpAddress marker = MARKER4;
    private long markers;

    /**
     * Creates the host.
     *
     * @param isOurs whether the program runs on the device
     */
    Side(TestNetwork network, int number, Flavor flavor, boolean isOurs) throws Exception {
        this.number = number;
        this.flavor = flavor;
        namespace = network.namespace();
        NetworkNamespace far = network.namespace();
        far.call(() -> {
            write("ipv6/conf/all/disable_ipv6", "1");
            write("ipv6/conf/default/disable_ipv6", "1");
            return null;
        });
        namespace.call(() -> {
            set("ipv4/conf/", "default", IPV4_SETTINGS);
            set("ipv6/conf/", "default", IPV6_SETTINGS);
            set("ipv4/conf/", "all", IPV4_SETTINGS);
            write("ipv4/tcp_synack_retries", "1");
            write("ipv4/icmp_ratelimit", "0");
            return null;
        });
        batch4 = new IpBatch(namespace, "-4");
        batch6 = new IpBatch(namespace, "-6");
        monitor = namespace.call(RtnetlinkMonitor::open);
        batch4.send(links(far.name()));
        awaitLinks();
        namespace.call(() -> {
            for (int i = 0; i < LINKS; i++) {
                set("ipv4/neigh/", substitute("up" + i), NEIGHBOR_SETTINGS);
                set("ipv6/neigh/", substitute("up" + i), NEIGHBOR_SETTINGS);
            }
            return null;
        });
        openWires(far);
        String first = substitute("up0");
        program = isOurs ? NettyHost.onDevice(namespace, flavor.provider + first)
                : NettyHost.onKernel(namespace);
        followerOrNull = isOurs ? namespace.call(KernelIpHost::ofCallingThread) : null;
        if (isOurs) {
            followed = followerOrNull.snapshot();
            followerOrNull.addListener(snapshot -> followed = snapshot);
        }
    }

    /** Opens the far ends and sets them up, so that all links have a carrier. */
    private void openWires(NetworkNamespace far) throws Exception {
        // A TUN device has a carrier only while a file descriptor is attached to it.
        Wire tunOrNull = flavor.hasTun() ? namespace.call(() -> new TunWire(substitute("up2"), Macs.ofHost(2)))
                : null;
        try (IpBatch farBatch = new IpBatch(far, "-4")) {
            farBatch.send(List.of("link set far0 up", "link set far1 up", "link set far2 up").stream()
                    .map(this::substitute).toList());
            for (int i = 0; i < LINKS; i++) {
                String name = substitute("up" + i);
                Await.until("a carrier on " + name, LIMIT, () -> link(name).isUp());
            }
        }
        for (int wire = 0; wire < (tunOrNull == null ? LINKS : 2); wire++) {
            String name = substitute("far" + wire);
            wires.add(new PacketWire(far.call(() -> {
                try (RtnetlinkMonitor links = RtnetlinkMonitor.open()) {
                    return PacketPort.open(name, links.snapshot().link(name).index());
                }
            })));
        }
        if (tunOrNull != null) {
            wires.add(tunOrNull);
        }
    }

    /** Sets a sysctl, given by its file below {@code /proc/sys/net}. */
    void set(String file, String value) {
        try {
            namespace.call(() -> {
                write(file, value);
                return null;
            });
        } catch (Exception e) {
            throw new IllegalStateException("cannot set " + file, e);
        }
    }

    private static void set(String directory, String name, List<String> settings) throws IOException {
        for (String setting : settings) {
            String[] split = setting.split(" ");
            write(directory + name + '/' + split[0], split[1]);
        }
    }

    private static void write(String file, String value) throws IOException {
        Files.writeString(Path.of("/proc/sys/net/" + file), value);
    }

    private List<String> links(String far) {
        List<String> lines = new ArrayList<>();
        addFirst(lines, far);
        lines.add(veth("up1", 1, far));
        if (flavor.third.equals("macvlan")) {
            lines.add("link add up2 link up1 address " + Macs.text(Macs.ofHost(2)) + " type macvlan mode bridge");
            // This wire carries no frames, because the link shares the wire of up1.
            lines.add(veth("unused2", 2, far));
        } else if (flavor.hasTun()) {
            lines.add("tuntap add dev up2 mode tun");
            lines.add(veth("unused2", 2, far));
        } else {
            lines.add("link add up2 address " + Macs.text(Macs.ofHost(2)) + " type bridge mcast_snooping 0");
            lines.add("link add port2 type veth peer name far2 netns " + far);
            lines.add("link set port2 master up2");
            lines.add("link set port2 up");
        }
        for (int i = 0; i < LINKS; i++) {
            lines.add("link set up" + i + " up");
        }
        // Markers use a separate link that no scenario changes.
        lines.add("link add mk type veth peer name mkfar");
        lines.add("link set mk up");
        lines.add("link set mkfar up");
        return lines.stream().map(this::substitute).toList();
    }

    /** Adds the commands that create the device's link. */
    private void addFirst(List<String> lines, String far) {
        String address = " address " + Macs.text(Macs.ofHost(0));
        switch (flavor.first) {
            case "veth" -> lines.add(veth("up0", 0, far));
            case "bridge" -> {
                lines.add("link add up0" + address + " type bridge mcast_snooping 0");
                lines.add(veth("port0", 0, far));
                lines.add("link set port0 master up0 up");
            }
            case "macvlan" -> {
                lines.add(veth("port0", 0, far));
                lines.add("link set port0 up");
                lines.add("link add up0 link port0" + address + " type macvlan mode private");
            }
            default -> throw new IllegalStateException(flavor.first);
        }
    }

    private static String veth(String name, int link, String far) {
        String mac = name.startsWith("up") ? " address " + Macs.text(Macs.ofHost(link)) : "";
        return "link add " + name + mac + " type veth peer name far" + link + " netns " + far;
    }

    private void awaitLinks() {
        for (int i = 0; i < LINKS; i++) {
            String name = substitute("up" + i);
            Await.until(name + ": " + output(), LIMIT, () -> link(name) != null);
        }
    }

    private io.rdmaraw.net.Link link(String name) {
        poll();
        return monitor.snapshot().link(name);
    }

    private void poll() {
        try {
            monitor.poll();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /**
     * Replaces the names of links by names that differ between pairs of hosts, because a process identifies devices by
     * name.
     */
    String substitute(String command) {
        return command.replaceAll("\\b(up|far|unused|port)(\\d)\\b", "$1$2x" + number);
    }

    /**
     * Passes commands to the kernel. On return, the commands that share the IP version of the last one may not have
     * been executed.
     */
    void change(List<String> commands) {
        boolean ipv6 = false;
        List<String> lines = new ArrayList<>();
        for (String command : commands) {
            boolean isOfIpv6 = isOfIpv6(command);
            if (isOfIpv6 != ipv6 && !lines.isEmpty()) {
                send(lines, ipv6);
                Await.until("the commands " + lines, LIMIT, () -> {
                    poll();
                    return hasMarker(monitor.snapshot());
                });
            }
            ipv6 = isOfIpv6;
            lines.add(substitute(isOfIpv6 ? command.replaceFirst("^-6 ", "") : command));
        }
        send(lines, ipv6);
    }

    private static boolean isOfIpv6(String command) {
        return command.startsWith("-6 ") || command.matches("neigh (replace|flush to) [0-9a-f]*:.*");
    }

    /** Adds a marker after the commands. {@link #isChanged} waits for it. */
    private void send(List<String> lines, boolean ipv6) {
        marker = ipv6 ? MARKER6 : MARKER4;
        lines.add("neigh replace " + marker + " lladdr " + Macs.text(++markers) + " dev mk nud permanent");
        (ipv6 ? batch6 : batch4).send(lines);
        lines.clear();
    }

    /** Returns whether the kernel has executed the commands and this host's program knows the result. */
    boolean isChanged() {
        poll();
        return hasMarker(monitor.snapshot()) && (followerOrNull == null || hasMarker(followed));
    }

    private boolean hasMarker(NetworkSnapshot snapshot) {
        io.rdmaraw.net.Link link = snapshot.link("mk");
        Neighbor found = link == null ? null : snapshot.neighbor(link.index(), marker);
        return found != null && found.mac() == markers;
    }

    boolean isUp(int link) {
        io.rdmaraw.net.Link found = monitor.snapshot().link(substitute("up" + link));
        return found != null && found.isUp();
    }

    /** Returns the interface index of a link. */
    int index(int link) {
        return monitor.snapshot().link(substitute("up" + link)).index();
    }

    boolean inject(int link, byte[] frame) {
        return wires.get(wireOf(link)).inject(frame);
    }

    /** Returns how many router advertisements a link has received. */
    long routerAdvertisements(int link) {
        try {
            Path counters = Path.of("/proc/thread-self/net/dev_snmp6", substitute("up" + link));
            return namespace.call(() -> Files.readAllLines(counters)).stream()
                    .filter(line -> line.startsWith("Icmp6InRouterAdvertisements"))
                    .mapToLong(line -> Long.parseLong(line.split("\\s+")[1])).sum();
        } catch (Exception e) {
            throw new IllegalStateException("the counters of up" + link + " cannot be read", e);
        }
    }

    private int wireOf(int link) {
        return link == 2 && flavor.third.equals("macvlan") ? 1 : link;
    }

    /**
     * Reads the frames of the host. Answers solicitations, and passes all other frames with their link to the receiver.
     */
    boolean read(ObjIntConsumer<Frame> receiver) {
        boolean any = false;
        for (Wire wire : wires) {
            any |= wire.read(frame -> {
                int link = Macs.linkOf(frame.sourceMac());
                if (link < 0) {
                    return;
                }
                if (frame.protocol() == Frame.ARP || frame.protocol() == Frame.SOLICITATION) {
                    answer(link, frame);
                } else {
                    receiver.accept(frame, link);
                }
            });
        }
        return any;
    }

    private void answer(int link, Frame question) {
        if (!isSilent(question.destination()) && !question.source().equals(question.destination())
                && !question.source().isAnyLocalAddress()) {
            inject(link, Frame.neighbor(question, Macs.of(link, question.destination())));
        }
    }

    /** Returns whether a peer does not answer solicitations: its last byte is 240 or more. */
    static boolean isSilent(InetAddress peer) {
        byte[] bytes = peer.getAddress();
        return (bytes[bytes.length - 1] & 0xff) >= 240;
    }

    NettyHost program() {
        return program;
    }

    NetworkNamespace namespace() {
        return namespace;
    }

    /**
     * Returns the routes as known by the program, or as listed by the kernel. Multicast routes are omitted: each link
     * has one, and their order depends on when the links got their carrier.
     */
    List<String> routes(boolean asFollowed) throws Exception {
        NetworkSnapshot snapshot;
        if (asFollowed) {
            snapshot = followed;
        } else {
            try (RtnetlinkMonitor fresh = namespace.call(RtnetlinkMonitor::open)) {
                snapshot = fresh.snapshot();
            }
        }
        return snapshot.routes().stream().filter(route -> route.type() != MULTICAST)
                .map(Object::toString).sorted().toList();
    }

    /**
     * Returns the link by which the kernel sends from one address to another: {@link #LINKS} for any other link, -1 if
     * there is no route.
     */
    int linkOfRoute(InetAddress source, InetAddress destination) {
        try (RouteQuery query = namespace.call(RouteQuery::new)) {
            Route route = query.query(IpAddress.of(destination), IpAddress.of(source), 0, false);
            if (route == null || route.nextHops().isEmpty()) {
                return -1;
            }
            int link = 0;
            while (link < LINKS && route.nextHops().getFirst().linkIndex() != index(link)) {
                link++;
            }
            return link;
        } catch (Exception e) {
            throw new IllegalStateException("the kernel has no answer about the route to " + destination, e);
        }
    }

    /** Reads the program's network state anew. */
    void rereadAll() {
        NetworkSnapshot before = followed;
        followerOrNull.rereadAll();
        Await.until("a new snapshot", LIMIT, () -> followed != before);
    }

    /** Returns everything that {@code ip} has printed. */
    String output() {
        return batch4.output() + batch6.output();
    }

    /** Describes the progress of the host, for the message of a timeout. */
    @Override
    public String toString() {
        return namespace + (batch4.isAlive() && batch6.isAlive() ? "" : ": ip has ended;")
                + " marker " + markers + (hasMarker(monitor.snapshot()) ? " is" : " is not") + " there"
                + (followerOrNull == null ? "" : hasMarker(followed) ? ", and known" : ", and not known")
                + "; ip printed at last: " + tail(batch4.output()) + " / " + tail(batch6.output());
    }

    private static String tail(String text) {
        return text.substring(Math.max(0, text.length() - 300)).replace('\n', ' ');
    }

    @Override
    public void close() {
        program.close();
        wires.forEach(Wire::close);
        batch4.close();
        batch6.close();
        monitor.close();
    }
}
