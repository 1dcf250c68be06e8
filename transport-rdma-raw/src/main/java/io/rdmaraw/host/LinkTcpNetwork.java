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
 * The network of one loop's TCP on a device that is attached to a link. The rule of a listener matches its port, and
 * the rule of a connection both ends. Paths come from the host's routes and neighbours. Subclasses define the host that
 * owns the addresses and ports.
 */
public abstract class LinkTcpNetwork implements TcpNetwork {
    private static final InternalLogger LOGGER = InternalLoggerFactory.getInstance(LinkTcpNetwork.class);

    /**
     * Maximum number of rules of a wildcard listener. For the remaining addresses the kernel or the rules of a
     * userspace host receive the connections.
     */
    private static final int MAX_WILDCARD_RULES = 64;

    private final String deviceName;
    private final String linkName;
    /** Constant, even if the link is renamed. */
    private final int linkIndex;
    private final IpHost host;
    private final LoopNeighbors neighbors;
    private final IpContext ipContext;
    private final RouteCache routes;
    private final ScheduledExecutorService loop;
    private final LocalAddressCache localAddresses = new LocalAddressCache();

    protected LinkTcpNetwork(String deviceName, IpHost host, IpContext ipContext, ScheduledExecutorService loop)
            throws IOException {
        this.deviceName = deviceName;
        this.loop = loop;
        this.host = host;
        this.ipContext = ipContext;
        routes = new RouteCache(host);
        linkName = NetworkDevices.interfaceOf(deviceName);
        neighbors = ipContext.neighbors(host);
        linkIndex = SocketErrors.requireLink(host, deviceName, linkName).index();
        host.logLinkChanges(linkIndex, deviceName);
    }

    /** A binding without flow rules. */
    private record ReservedBinding(IpAddress local, int port, List<FlowSpec> flows,
            Runnable releaseAction) implements Binding {
        @Override
        public void close() {
            releaseAction.run();
        }
    }

    /** The port of one connection. Its rule follows the MAC address of the link. Used on the loop's thread only. */
    private final class ConnectedBinding implements Binding {
        private final IpAddress local;
        private final Port port;
        private final IpAddress remote;
        private final int remotePort;
        private long mac;
        private List<FlowSpec> flows;

        ConnectedBinding(Link link, IpAddress local, Port port, IpAddress remote, int remotePort) {
            this.local = local;
            this.port = port;
            this.remote = remote;
            this.remotePort = remotePort;
            setMac(link.mac());
        }

        private void setMac(long newMac) {
            mac = newMac;
            flows = List.of(FlowSpecs.tcp(mac, local, port.number, remote, remotePort, remote.version()));
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
        public List<FlowSpec> flows() {
            Link link = host.snapshot().link(linkIndex);
            if (link != null && link.mac() != mac) {
                setMac(link.mac());
            }
            return flows;
        }

        @Override
        public void close() {
            port.releaseAction.run();
        }
    }

    /**
     * A bound port and the action that releases it.
     *
     * @param useOrNull the use of a listening port; null for other ports, and if the kernel manages the ports
     */
    public record Port(int number, PortUse useOrNull, Runnable releaseAction) {
    }

    /** Binds a port for a listener. */
    protected abstract Port bindPort(IpAddress local, int port, PortSharing sharing) throws IOException;

    /** Binds a port for a connection; 0 selects one. */
    protected abstract Port bindPort(IpAddress local, int port, IpAddress remote, int remotePort) throws IOException;

    /** Binds a port without a flow rule; 0 selects one. */
    protected abstract Port reservePort(IpAddress local, int port) throws IOException;

    /** Returns the error message for a peer that is this host or that is reached through another link. */
    protected abstract String describeOffLink(IpAddress remote);

    protected final String deviceName() {
        return deviceName;
    }

    protected final String linkName() {
        return linkName;
    }

    private Link link(NetworkSnapshot snapshot) throws SocketException {
        return SocketErrors.requireLink(snapshot, deviceName, linkName, linkIndex);
    }

    @Override
    public final List<FlowSpec> flows() {
        return List.of();
    }

    @Override
    public final Binding listen(InetSocketAddress local, PortSharing sharing) throws IOException {
        IpAddress address = IpAddress.of(local.getAddress());
        if (!isKernelServed() && !sharing.freeBind()) {
            checkLocal(address);
        }
        Link link = link(host.snapshot());
        Port port = bindPort(address, local.getPort(), sharing);
        // The kernel's socket is bound already. An address that was added a moment ago may be missing in the snapshot.
        if (!address.isAny() && host.snapshot().isLocal(address) && !host.snapshot().isServedBy(link, address)) {
            LOGGER.warn("{} is not an address of {}, so the kernel serves port {}: bind to an address of {} or to the"
                    + " wildcard address to use {}", address, linkName, port.number, linkName, deviceName);
        }
        return new ListeningBinding(address, port);
    }

    /** A listening port. Its rules follow the host's MAC and IP addresses. */
    private final class ListeningBinding implements Binding {
        private final IpAddress local;
        private final Port port;
        /** The state that {@link #flows} was computed from. */
        private List<Link> links;
        private List<LocalAddress> addresses;
        private Map<FlowSpec, IpAddress> flows = Map.of();

        ListeningBinding(IpAddress local, Port port) {
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

        /**
         * Computes the rules if links or addresses have changed. While the link does not exist, the rules remain
         * unchanged; the device reports its removal separately.
         */
        private void update() {
            NetworkSnapshot snapshot = host.snapshot();
            Link link = snapshot.link(linkIndex);
            if (link == null || snapshot.links().equals(links) && snapshot.addresses().equals(addresses)) {
                return;
            }
            links = snapshot.links();
            addresses = snapshot.addresses();
            if (local.isAny()) {
                flows = wildcardFlows(snapshot, link);
            } else if (!local.isLoopback()) {
                flows = Map.of(FlowSpecs.tcp(link.mac(), local, port.number, null, 0, local.version()), local);
            }
        }

        /**
         * Returns one rule for each address. A single rule for all addresses would also match packets that the host
         * only forwards.
         */
        private Map<FlowSpec, IpAddress> wildcardFlows(NetworkSnapshot snapshot, Link link) {
            Map<FlowSpec, IpAddress> made = new LinkedHashMap<>();
            snapshot.addresses().stream()
                    .filter(each -> each.isUsable() && snapshot.isServedBy(link, each.address()))
                    .sorted(Comparator.comparing(each -> each.linkIndex() != link.index()))
                    .map(LocalAddress::address).distinct().limit(MAX_WILDCARD_RULES)
                    .forEach(each -> made.put(FlowSpecs.wildcardTcp(link.mac(), each, port.number), each));
            return made;
        }

        @Override
        public synchronized SteeredAddresses steeredAddresses(List<FlowSpec> rules) {
            Link link = host.snapshot().link(linkIndex);
            return link == null || !isKernelServed() ? null
                    : new SteeredAddresses(link.index(),
                            rules.stream().map(flows::get).filter(Objects::nonNull).toList());
        }

        @Override
        public void setListening(boolean listening) {
            if (port.useOrNull != null) {
                port.useOrNull.setListening(listening);
            }
        }

        @Override
        public void close() {
            port.releaseAction.run();
        }
    }

    @Override
    public final void addHostChangeListener(Runnable onHostChange) {
        ipContext.addHostChangeListener(onHostChange);
    }

    @Override
    public final void removeHostChangeListener(Runnable onHostChange) {
        ipContext.removeHostChangeListener(onHostChange);
    }

    @Override
    public final boolean isLocalUnicast(long destinationHigh, long destinationLow) {
        return localAddresses.contains(host.snapshot(), destinationHigh, destinationLow);
    }

    /**
     * Source address and path for a new connection.
     *
     * @param source the source address
     * @param pathOrNull null if there is no path
     */
    private record ResolvedPath(IpAddress source, NetworkSnapshot.Path pathOrNull) {
    }

    /**
     * Finds source address and path as the kernel does. If no source is given, the route determines it. The source in
     * turn can change the route.
     */
    private ResolvedPath resolvePath(NetworkSnapshot snapshot, InetSocketAddress localOrNull, IpAddress remote,
            int mark) {
        IpAddress wanted = localOrNull == null ? IpAddress.ANY_IPV6 : IpAddress.of(localOrNull.getAddress());
        if (!wanted.isAny()) {
            return new ResolvedPath(wanted,
                    wanted.version() == remote.version() ? path(snapshot, remote, wanted, mark) : null);
        }
        NetworkSnapshot.Path first = host.path(snapshot, remote, null, mark, linkIndex);
        return first == null || first.source() == null ? new ResolvedPath(wanted, null)
                : new ResolvedPath(first.source(), path(snapshot, remote, first.source(), mark));
    }

    private NetworkSnapshot.Path path(NetworkSnapshot snapshot, IpAddress remote, IpAddress source, int mark) {
        return routes.path(snapshot, remote, source, mark, linkIndex, System.nanoTime());
    }

    private boolean isLocal(NetworkSnapshot snapshot, IpAddress remote) {
        Link link = snapshot.link(linkIndex);
        return remote.isLinkLocal() && link != null ? snapshot.isServedBy(link, remote) : snapshot.isLocal(remote);
    }

    /**
     * Returns whether the device can reach a peer. Without a route this returns false, so that the kernel reports the
     * error. A marked connection without a route is an exception: kernel sockets carry no mark, so the connection must
     * fail here.
     */
    protected final boolean canReach(InetSocketAddress localOrNull, IpAddress remote, int mark) {
        NetworkSnapshot snapshot = host.snapshot();
        NetworkSnapshot.Path path = resolvePath(snapshot, localOrNull, remote, mark).pathOrNull;
        return (path != null || mark != 0) && canReach(snapshot, remote, path);
    }

    private boolean canReach(NetworkSnapshot snapshot, IpAddress remote, NetworkSnapshot.Path pathOrNull) {
        return !isLocal(snapshot, remote) && (pathOrNull == null || pathOrNull.link().index() == linkIndex);
    }

    /** Returns the link of a local address if several links can have this address, else 0. */
    protected final int scopeOf(IpAddress local) throws SocketException {
        return local.isLinkLocal() ? link(host.snapshot()).index() : 0;
    }

    /** Returns whether the scope id of an IPv6 address (RFC 4007 section 6) denotes a link other than the device's. */
    protected final boolean isOnOtherLink(InetAddress remote) {
        if (!(remote instanceof Inet6Address ipv6) || ipv6.getScopeId() == 0 || !ipv6.isLinkLocalAddress()) {
            return false;
        }
        Link link = host.snapshot().link(linkIndex);
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
        ResolvedPath resolved = resolvePath(snapshot, localOrNull, remote, mark);
        IpAddress source = resolved.source;
        if (!canReach(snapshot, remote, resolved.pathOrNull)) {
            throw new NoRouteToHostException("No route to host: " + describeOffLink(remote));
        }
        if (!source.isAny()) {
            SocketErrors.requireSameVersion(source, remote);
        }
        if (resolved.pathOrNull == null) {
            throw new NoRouteToHostException("Network is unreachable");
        }
        Port port = bindPort(source, localOrNull == null ? 0 : localOrNull.getPort(), remote, remotePort);
        return new ConnectedBinding(link, source, port, remote, remotePort);
    }

    @Override
    public final Binding reserve(InetSocketAddress local) throws IOException {
        IpAddress address = IpAddress.of(local.getAddress());
        checkLocal(address);
        Port port = reservePort(address, local.getPort());
        return new ReservedBinding(address, port.number, List.of(), port.releaseAction);
    }

    @Override
    public final void checkLocal(IpAddress local) throws IOException {
        if (!local.isAny() && !host.snapshot().isLocal(local)) {
            throw SocketErrors.notLocal(local);
        }
    }

    @Override
    public final int linkIndex() {
        return host.snapshot().link(linkIndex) == null ? NetworkSnapshot.NO_LINK : linkIndex;
    }

    @Override
    public final boolean hasRulesPerBinding() {
        return true;
    }

    @Override
    public final void sendWhenResolved(PendingPacket packet) {
        neighbors.sendWhenResolved(packet);
    }

    @Override
    public final void suspect(NextHop hop) {
        neighbors.suspect(hop, loop);
    }

    @Override
    public final void solicit(NextHop hop) {
        neighbors.solicit(hop, loop);
    }

    @Override
    public final long generation() {
        return host.snapshot().generation();
    }

    @Override
    public final boolean isMartianSource(long high, long low) {
        return host.snapshot().isMartianSource(high, low);
    }

    @Override
    public final boolean isBroadcast(int ipv4) {
        return host.snapshot().isBroadcast(ipv4);
    }

    @Override
    public final void recordPathMtu(IpAddress remote, int mtuBytes) {
        ipContext.pathMtus().recordMtu(remote, mtuBytes, System.nanoTime());
    }

    @Override
    public final TcpPath path(long sourceHigh, long sourceLow, int sourcePort, long targetHigh, long targetLow,
                              int targetPort, int mark, long peerMac) {
        NetworkSnapshot snapshot = host.snapshot();
        IpAddress target = new IpAddress(targetHigh, targetLow);
        return pathTo(target, snapshot, path(snapshot, target, new IpAddress(sourceHigh, sourceLow), mark), peerMac);
    }

    @Override
    public final TcpPath replyPath(long sourceHigh, long sourceLow, int sourcePort, long targetHigh,
                                        long targetLow, int targetPort, int mark, long peerMac) {
        NetworkSnapshot snapshot = host.snapshot();
        IpAddress target = new IpAddress(targetHigh, targetLow);
        IpAddress source = new IpAddress(sourceHigh, sourceLow);
        if (!routes.acquireReplyLookup(snapshot, target, source, mark, System.nanoTime())) {
            return TcpPath.LOOKUP_LIMITED;
        }
        return pathTo(target, snapshot, path(snapshot, target, source, mark), peerMac);
    }

    /**
     * Returns a path to the MAC address that the peer's segments come from, because the route uses another link. The
     * kernel would reply through the route, but the device cannot. The kernel accepts such segments unless
     * {@code rp_filter} of the link is strict, and so does this method.
     */
    private TcpPath returnPath(IpAddress target, NetworkSnapshot snapshot, NetworkSnapshot.Path path, long peerMac) {
        Link link = snapshot.link(linkIndex);
        if (peerMac == 0 || link == null || !link.isUp()
                || target.isIpv4() && snapshot.reversePathFilters().isStrict(link.index())) {
            return TcpPath.OTHER_LINK;
        }
        int mtuBytes = Math.min(path.mtuBytes(), link.mtuBytes());
        int pathMtuBytes = Math.min(mtuBytes, ipContext.pathMtus().limit(target, System.nanoTime()));
        return new TcpPath(snapshot.generation(), link.mac(), peerMac, mtuBytes, pathMtuBytes,
                path.advertisedMssBytes(), null, true);
    }

    private TcpPath pathTo(IpAddress target, NetworkSnapshot snapshot, NetworkSnapshot.Path path, long peerMac) {
        if (path == null) {
            return null;
        }
        if (path.link().index() != linkIndex) {
            return returnPath(target, snapshot, path, peerMac);
        }
        int linkIndex = path.link().index();
        NextHop hop = neighbors.find(snapshot, linkIndex, path.nextHop(), loop);
        int pathMtuBytes = Math.min(path.mtuBytes(), ipContext.pathMtus().limit(target, System.nanoTime()));
        return new TcpPath(snapshot.generation(), path.link().mac(), hop.isResolved() ? hop.mac() : 0, path.mtuBytes(),
                pathMtuBytes, path.advertisedMssBytes(), hop, false);
    }
}
