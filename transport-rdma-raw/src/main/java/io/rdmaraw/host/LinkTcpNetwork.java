package io.rdmaraw.host;

import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import io.rdmaraw.net.IpAddress;
import io.rdmaraw.net.Link;
import io.rdmaraw.net.LocalAddress;
import io.rdmaraw.net.NetworkSnapshot;
import io.rdmaraw.net.PortSharing;
import io.rdmaraw.verbs.flow.FlowSpec;

import java.io.IOException;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NoRouteToHostException;
import java.net.SocketException;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ScheduledExecutorService;

/**
 * The network of a device that leads to a link, for one loop's TCP: a listener's rule names the port, a connection's
 * both ends; paths by the host's routes and neighbours. Whose addresses and ports they are is for the subclass.
 */
public abstract class LinkTcpNetwork implements TcpNetwork {
    private static final InternalLogger LOGGER = InternalLoggerFactory.getInstance(LinkTcpNetwork.class);

    /** A link with more addresses takes connections to the rest by the kernel, or by the rules of a userspace host. */
    private static final int MAX_WILDCARD_RULES = 64;

    private final String deviceName;
    private final String linkName;
    private final IpHost host;
    private final LoopNeighbors neighbors;
    private final IpContext hostView;
    private final RouteCache routes;
    private final ScheduledExecutorService loop;
    private final OurAddresses ours = new OurAddresses();

    protected LinkTcpNetwork(String deviceName, IpHost host, IpContext hostView, ScheduledExecutorService loop)
            throws IOException {
        this.deviceName = deviceName;
        this.loop = loop;
        this.host = host;
        this.hostView = hostView;
        routes = new RouteCache(host);
        linkName = NetworkDevices.ofDevice(deviceName);
        neighbors = hostView.neighbors(host);
        link(host.snapshot());
    }

    /** A port with its rules, and how it is given back. */
    private record Taken(IpAddress local, int port, List<FlowSpec> flows, Runnable giveBack) implements Binding {
        @Override
        public void close() {
            giveBack.run();
        }
    }

    /**
     * A port that was taken, and how it is given back.
     *
     * @param useOrNull that of a port to listen on; null for others, and where the kernel has the ports
     */
    public record Port(int number, PortUse useOrNull, Runnable giveBack) {
    }

    /** Takes a port to listen on. */
    protected abstract Port takePort(IpAddress local, int port, PortSharing sharing) throws IOException;

    /** Takes a port for one connection; 0 for one of the host's choice. */
    protected abstract Port takePort(IpAddress local, int port, IpAddress remote, int remotePort) throws IOException;

    /** Returns why a connection to this host's own address, or by another link, is not for the device. */
    protected abstract String elsewhere(IpAddress remote);

    protected final String deviceName() {
        return deviceName;
    }

    protected final String linkName() {
        return linkName;
    }

    private Link link(NetworkSnapshot snapshot) throws SocketException {
        return Refusals.requireLink(snapshot, deviceName, linkName);
    }

    @Override
    public final List<FlowSpec> flows() {
        return List.of();
    }

    @Override
    public final Binding listen(InetSocketAddress local, PortSharing sharing) throws IOException {
        IpAddress address = IpAddress.of(local.getAddress());
        checkLocal(address);
        Link link = link(host.snapshot());
        Port port = takePort(address, local.getPort(), sharing);
        if (!address.isAny() && !host.snapshot().isServedBy(link, address)) {
            LOGGER.warn("{} is not an address of {}, so the kernel serves port {}: bind to an address of {} or to the"
                    + " wildcard address to use {}", address, linkName, port.number, linkName, deviceName);
        }
        return new Listening(address, port);
    }

    /** A port to listen on. Its rules follow the host's MAC and IP addresses. */
    private final class Listening implements Binding {
        private final IpAddress local;
        private final Port port;
        /** What the rules were made from, and they. */
        private List<Link> links;
        private List<LocalAddress> addresses;
        private Map<FlowSpec, IpAddress> flows = Map.of();

        Listening(IpAddress local, Port port) {
            this.local = local;
            this.port = port;
        }

        @Override
        public IpAddress local() {
            return local;
        }

        @Override
        public int port() {
            return port.number;
        }

        @Override
        public synchronized List<FlowSpec> flows() {
            update();
            return List.copyOf(flows.keySet());
        }

        /** While the link is gone the rules stay as they were: the device tells of its end by itself. */
        private void update() {
            NetworkSnapshot snapshot = host.snapshot();
            Link link = snapshot.link(linkName);
            if (link == null || snapshot.links().equals(links) && snapshot.addresses().equals(addresses)) {
                return;
            }
            links = snapshot.links();
            addresses = snapshot.addresses();
            if (local.isAny()) {
                flows = wildcardFlows(snapshot, link);
            } else if (!local.isLoopback()) {
                flows = Map.of(FlowMatches.tcp(link.mac(), local, port.number, null, 0, local.version()), local);
            }
        }

        /**
         * A wildcard is a rule for each address: one rule for all would take what a host that forwards packets gets for
         * others.
         */
        private Map<FlowSpec, IpAddress> wildcardFlows(NetworkSnapshot snapshot, Link link) {
            Map<FlowSpec, IpAddress> made = new LinkedHashMap<>();
            snapshot.addresses().stream()
                    .filter(each -> each.isUsable() && snapshot.isServedBy(link, each.address()))
                    .sorted(Comparator.comparing(each -> each.linkIndex() != link.index()))
                    .map(LocalAddress::address).distinct().limit(MAX_WILDCARD_RULES)
                    .forEach(each -> made.put(FlowMatches.wildcardTcp(link.mac(), each, port.number), each));
            return made;
        }

        @Override
        public synchronized Steered steered(List<FlowSpec> rules) {
            Link link = host.snapshot().link(linkName);
            return link == null || !isKernelServed() ? null
                    : new Steered(link.index(), rules.stream().map(flows::get).filter(Objects::nonNull).toList());
        }

        @Override
        public void setListening(boolean listening) {
            if (port.useOrNull != null) {
                port.useOrNull.setListening(listening);
            }
        }

        @Override
        public void close() {
            port.giveBack.run();
        }
    }

    @Override
    public final void follow(Runnable onHostChange) {
        hostView.follow(onHostChange);
    }

    @Override
    public final void unfollow(Runnable onHostChange) {
        hostView.unfollow(onHostChange);
    }

    @Override
    public final boolean isOurs(long destinationHigh, long destinationLow) {
        return ours.contains(host.snapshot(), destinationHigh, destinationLow);
    }

    /**
     * The way of a connection that is to be opened.
     *
     * @param source the address it comes from
     * @param pathOrNull null when there is none
     */
    private record Way(IpAddress source, NetworkSnapshot.Path pathOrNull) {
    }

    /** As the kernel does: the route gives the source where none was chosen, and the source can change the route. */
    private Way wayTo(NetworkSnapshot snapshot, InetSocketAddress localOrNull, IpAddress remote, int mark) {
        IpAddress wanted = localOrNull == null ? IpAddress.ANY_IPV6 : IpAddress.of(localOrNull.getAddress());
        if (!wanted.isAny()) {
            return new Way(wanted, wanted.version() == remote.version() ? path(snapshot, remote, wanted, mark) : null);
        }
        NetworkSnapshot.Path first = isOfLink(remote) ? onLink(snapshot, remote)
                : host.path(snapshot, remote, null, mark);
        return first == null ? new Way(wanted, null)
                : new Way(first.source(), path(snapshot, remote, first.source(), mark));
    }

    /** Every link has addresses of this kind: those of packets that come by the device are of its link. */
    private static boolean isOfLink(IpAddress remote) {
        return remote.isLinkLocal();
    }

    private NetworkSnapshot.Path onLink(NetworkSnapshot snapshot, IpAddress remote) {
        Link link = snapshot.link(linkName);
        return link == null || !link.isUp() ? null : snapshot.onLink(link, remote);
    }

    private NetworkSnapshot.Path path(NetworkSnapshot snapshot, IpAddress remote, IpAddress source, int mark) {
        return isOfLink(remote) ? onLink(snapshot, remote) : routes.path(snapshot, remote, source, mark,
                System.nanoTime());
    }

    private boolean isLocal(NetworkSnapshot snapshot, IpAddress remote) {
        Link link = snapshot.link(linkName);
        return isOfLink(remote) && link != null ? snapshot.isServedBy(link, remote) : snapshot.isLocal(remote);
    }

    /** Tells whether the device leads to a peer. */
    protected final boolean reaches(InetSocketAddress localOrNull, IpAddress remote, int mark) {
        NetworkSnapshot snapshot = host.snapshot();
        return reaches(snapshot, remote, wayTo(snapshot, localOrNull, remote, mark).pathOrNull);
    }

    private boolean reaches(NetworkSnapshot snapshot, IpAddress remote, NetworkSnapshot.Path pathOrNull) {
        return !isLocal(snapshot, remote) && (pathOrNull == null || pathOrNull.link().name().equals(linkName));
    }

    /** Returns the link that a local address belongs to where several can have it, else 0. */
    protected final int scopeOf(IpAddress local) throws SocketException {
        return local.isLinkLocal() ? link(host.snapshot()).index() : 0;
    }

    /** Tells whether a scope id of an IPv6 address (RFC 4007 section 6) names another link than the device's. */
    protected final boolean isOfOtherLink(InetAddress remote) {
        if (!(remote instanceof Inet6Address ipv6) || ipv6.getScopeId() == 0 || !ipv6.isLinkLocalAddress()) {
            return false;
        }
        Link link = host.snapshot().link(linkName);
        return link != null && link.index() != ipv6.getScopeId();
    }

    @Override
    public final Binding connect(InetSocketAddress localOrNull, IpAddress remote, int remotePort, int mark)
            throws IOException {
        NetworkSnapshot snapshot = host.snapshot();
        Link link = link(snapshot);
        if (remote.isIpv4() && snapshot.isBroadcast(remote.ipv4())) {
            throw new NoRouteToHostException("Network is unreachable: " + remote
                    + " is the broadcast address of a subnet, and a connection is to one host");
        }
        Way way = wayTo(snapshot, localOrNull, remote, mark);
        IpAddress source = way.source;
        if (!reaches(snapshot, remote, way.pathOrNull)) {
            throw new NoRouteToHostException("No route to host: " + elsewhere(remote));
        }
        if (!source.isAny()) {
            Refusals.requireSameVersion(source, remote);
        }
        if (way.pathOrNull == null) {
            throw new NoRouteToHostException("Network is unreachable");
        }
        Port port = takePort(source, localOrNull == null ? 0 : localOrNull.getPort(), remote, remotePort);
        return new Taken(source, port.number, List.of(FlowMatches.tcp(link.mac(), source, port.number, remote,
                remotePort, remote.version())), port.giveBack);
    }

    @Override
    public final void checkLocal(IpAddress local) throws IOException {
        if (!local.isAny() && !host.snapshot().isLocal(local)) {
            throw Refusals.notLocal(local);
        }
    }

    @Override
    public final int linkIndex() {
        Link link = host.snapshot().link(linkName);
        return link == null ? 0 : link.index();
    }

    @Override
    public final boolean isSteered() {
        return true;
    }

    @Override
    public final void await(PendingPacket packet) {
        neighbors.await(packet);
    }

    @Override
    public final void suspect(NextHop hop) {
        neighbors.suspect(hop, loop);
    }

    @Override
    public final void request(NextHop hop) {
        neighbors.request(hop, loop);
    }

    @Override
    public final long generation() {
        return host.snapshot().generation();
    }

    @Override
    public final boolean isBroadcast(int ipv4) {
        return host.snapshot().isBroadcast(ipv4);
    }

    @Override
    public final void tooBig(IpAddress remote, int mtuBytes) {
        hostView.pathMtus().learned(remote, mtuBytes, System.nanoTime());
    }

    @Override
    public final TcpPath path(long sourceHigh, long sourceLow, int sourcePort, long targetHigh, long targetLow,
                              int targetPort, int mark) {
        NetworkSnapshot snapshot = host.snapshot();
        IpAddress target = new IpAddress(targetHigh, targetLow);
        return pathTo(target, snapshot, path(snapshot, target, new IpAddress(sourceHigh, sourceLow), mark));
    }

    @Override
    public final TcpPath pathOfReply(long sourceHigh, long sourceLow, int sourcePort, long targetHigh,
                                        long targetLow, int targetPort, int mark) {
        NetworkSnapshot snapshot = host.snapshot();
        IpAddress target = new IpAddress(targetHigh, targetLow);
        IpAddress source = new IpAddress(sourceHigh, sourceLow);
        if (!isOfLink(target) && !routes.knowsOrMayAsk(snapshot, target, source, mark, System.nanoTime())) {
            return TcpPath.NOT_ASKED;
        }
        return pathTo(target, snapshot, path(snapshot, target, source, mark));
    }

    private TcpPath pathTo(IpAddress target, NetworkSnapshot snapshot, NetworkSnapshot.Path path) {
        if (path == null || !path.link().name().equals(linkName)) {
            return null;
        }
        int linkIndex = path.link().index();
        NextHop hop = neighbors.find(snapshot, linkIndex, path.nextHop(), loop);
        int pathMtuBytes = Math.min(path.mtuBytes(), hostView.pathMtus().limit(target, System.nanoTime()));
        return new TcpPath(snapshot.generation(), path.link().mac(), hop.isResolved() ? hop.mac() : 0, path.mtuBytes(),
                pathMtuBytes, hop);
    }
}
