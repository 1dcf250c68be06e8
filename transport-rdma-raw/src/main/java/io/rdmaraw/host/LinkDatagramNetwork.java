package io.rdmaraw.host;

import io.rdmaraw.net.IpAddress;
import io.rdmaraw.net.Link;
import io.rdmaraw.net.NetworkSnapshot;
import io.rdmaraw.net.Route;
import io.rdmaraw.verbs.flow.FlowSpec;
import io.rdmaraw.verbs.flow.FlowSpecBuilder;
import io.rdmaraw.wire.EthernetHeader;

import java.io.IOException;
import java.net.Inet6Address;
import java.net.InetSocketAddress;
import java.net.SocketException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ScheduledExecutorService;

/**
 * The flow rules and next hops of one datagram channel on the device of a network interface. Unicast rules match the
 * host's MAC and IP addresses. Rules for multicast and broadcast match the destination, and the kernel may get a copy
 * of these datagrams. Paths come from the host's routes and neighbours. Subclasses define the host that owns the
 * addresses and ports.
 */
public abstract class LinkDatagramNetwork extends IpDatagramNetwork {
    private final String linkName;
    /** Constant, even if the link is renamed. */
    private final int linkIndex;
    private final IpHost host;
    private final LocalAddressCache localAddresses = new LocalAddressCache();
    /** Next hops of {@link #loop}. */
    private LoopNeighbors neighbors;
    /** Context of {@link #loop}. */
    private IpContext ipContext;
    /** The loop with which the channel is registered. */
    private ScheduledExecutorService loop;
    private long lastMac;

    protected LinkDatagramNetwork(String deviceName, IpHost host, boolean ipv4Only, Options options)
            throws IOException {
        super(deviceName, ipv4Only, options);
        this.host = host;
        linkName = NetworkDevices.interfaceOf(deviceName);
        linkIndex = SocketErrors.requireLink(host, deviceName, linkName).index();
        host.logLinkChanges(linkIndex, deviceName);
    }

    @Override
    public final void moveTo(IpContext newIpContext, ScheduledExecutorService newLoop) {
        neighbors = newIpContext.neighbors(host);
        ipContext = newIpContext;
        loop = newLoop;
    }

    /**
     * Returns the addresses to install rules for if the channel is bound to a wildcard address. One rule without an
     * address would match every packet to the MAC address of the link, also the packets that this host forwards.
     */
    protected abstract List<IpAddress> wildcardAddresses(NetworkSnapshot snapshot);

    /**
     * Returns the rule for multicast or broadcast packets. If the kernel needs these packets too, the returned rule
     * lets it receive a copy.
     */
    protected abstract FlowSpec withKernelCopy(FlowSpec rule);

    /**
     * Returns the path to a destination that the device cannot reach: this host, a host or broadcast address on another
     * link, a host without a route or source address, or a group if the link is down or has no source address. The
     * kernel's socket or the userspace host sends to some of them.
     *
     * @throws IOException if the destination cannot be reached at all
     */
    protected abstract DatagramPath offLinkPath(NetworkSnapshot snapshot, InetSocketAddress destination,
            IpAddress target, IpAddress source) throws IOException;

    /** Returns the index of the device's link. The link may no longer exist. */
    protected final int linkIndex() {
        return linkIndex;
    }

    private Link link(NetworkSnapshot snapshot) throws SocketException {
        return SocketErrors.requireLink(snapshot, deviceName(), linkName, linkIndex);
    }

    @Override
    public List<FlowSpec> flows() {
        BoundPort bound = bound();
        List<FlowSpec> flows = new ArrayList<>();
        if (!isPortReusable()) {
            addUnicast(flows);
        }
        if (bound.acceptsVersion(4) && bound.remoteOrNull() == null && bound.local().isAny()) {
            flows.add(withKernelCopy(
                    FlowSpecs.udp(EthernetHeader.BROADCAST, bound.local(), bound.port(), null, 0, 4)));
        }
        return flows;
    }

    @Override
    public List<FlowSpec> rssFlows() {
        List<FlowSpec> flows = new ArrayList<>();
        if (isPortReusable()) {
            addUnicast(flows);
        }
        return flows;
    }

    /**
     * Returns one rule for the local address and port, which all channels connected from this port can share, or none.
     */
    @Override
    public List<FlowSpec> coarseFlows() {
        BoundPort bound = bound();
        IpAddress local = bound.local();
        if (bound.remoteOrNull() == null || local.isLoopback()) {
            return List.of();
        }
        return List.of(FlowSpecs.udp(mac(host.snapshot()), local, bound.port(), null, 0, local.version()));
    }

    /**
     * Returns whether channels on other loops may share the port's rule. A connected channel does not share its
     * rule, which matches the peer's address and port too.
     */
    private boolean isPortReusable() {
        BoundPort bound = bound();
        return (bound.sharing().reuseAddress() || bound.sharing().reusePort()) && bound.remoteOrNull() == null;
    }

    private void addUnicast(List<FlowSpec> flows) {
        BoundPort bound = bound();
        IpAddress local = bound.local();
        if (local.isLoopback()) {
            return;
        }
        NetworkSnapshot snapshot = host.snapshot();
        long mac = mac(snapshot);
        for (IpAddress address : local.isAny() ? wildcardAddresses(snapshot) : List.of(local)) {
            for (int version : new int[] {4, 6}) {
                if (bound.acceptsVersion(version) && (address.isAny() || address.version() == version)) {
                    flows.add(FlowSpecs.udp(mac, address, bound.port(), bound.remoteOrNull(), bound.remotePort(),
                            version));
                }
            }
        }
    }

    /** Returns the MAC address of the link. If the link no longer exists, returns the last one seen here, or 0. */
    private long mac(NetworkSnapshot snapshot) {
        Link link = snapshot.link(linkIndex);
        if (link != null) {
            lastMac = link.mac();
        }
        return lastMac;
    }

    @Override
    public List<FlowSpec> groupFlows(InetSocketAddress group) {
        FlowSpecBuilder flow = FlowSpecs.group(IpAddress.of(group.getAddress()));
        return List.of(withKernelCopy(flow.udp().destinationPort(group.getPort()).build()));
    }

    @Override
    public long generation() {
        return host.snapshot().generation();
    }

    @Override
    public final boolean isMartianSource(long high, long low) {
        return host.snapshot().isMartianSource(high, low);
    }

    @Override
    public final boolean isForHost(long high, long low) {
        NetworkSnapshot snapshot = host.snapshot();
        return localAddresses.contains(snapshot, high, low) || IpAddress.isIpv4(high, low)
                && (low == IpAddress.BROADCAST.low() || snapshot.isBroadcast((int) low));
    }

    @Override
    protected final boolean isBroadcast(IpAddress target) {
        Route route = host.snapshot().route(target);
        return target.equals(IpAddress.BROADCAST) || route != null && route.type() == Route.BROADCAST;
    }

    /** Returns {@link #offLinkPath} for the broadcast address of another link's subnet. */
    @Override
    protected final DatagramPath pathToBroadcast(long generation, InetSocketAddress destination, IpAddress target,
            IpAddress source) throws IOException {
        NetworkSnapshot snapshot = host.snapshot();
        Route route = snapshot.route(target);
        boolean isOffLink = route != null && route.type() == Route.BROADCAST
                && route.nextHops().stream().noneMatch(hop -> hop.linkIndex() == linkIndex);
        return isOffLink ? offLinkPath(snapshot, destination, target, source.isAny() ? target : source)
                : super.pathToBroadcast(generation, destination, target, source);
    }

    @Override
    protected final DatagramPath pathToGroup(long generation, InetSocketAddress destination, IpAddress target,
            IpAddress wanted, long mac) throws IOException {
        NetworkSnapshot snapshot = host.snapshot();
        Link link = link(snapshot);
        boolean isUsable = link.isEnabled() && (!wanted.isAny()
                || options().groupSourceOrNull(target.isIpv4()) != null || snapshot.groupSource(link, target) != null);
        return isUsable ? super.pathToGroup(generation, destination, target, wanted, mac)
                : offLinkPath(snapshot, destination, target, wanted.isAny() ? target : wanted);
    }

    @Override
    protected final DatagramPath pathToHost(long generation, InetSocketAddress destination, IpAddress target,
            IpAddress source) throws IOException {
        NetworkSnapshot snapshot = host.snapshot();
        Link link = link(snapshot);
        int scope = scopeOf(destination, target, link);
        NetworkSnapshot.Path path = host.path(snapshot, target, source.isAny() ? null : source, options().mark(),
                link.index());
        if (target.isAny() || snapshot.isLocal(target) || scope != 0 && scope != link.index() || path == null
                || source.isAny() && path.source() == null || path.link().index() != link.index()) {
            return offLinkPath(snapshot, destination, target, source.isAny() ? target : source);
        }
        return pathToHop(snapshot, destination, target, source.isAny() ? path.source() : source, path);
    }

    /**
     * Returns the index of the link of an IPv6 link-local address, or 0 for other addresses. Every link has a route to
     * fe80::/64, so the scope id decides, not the route (RFC 4007 section 6). An address without scope id refers to the
     * device's link.
     */
    private static int scopeOf(InetSocketAddress destination, IpAddress target, Link link) {
        if (!target.isLinkLocal() || !(destination.getAddress() instanceof Inet6Address ipv6)) {
            return 0;
        }
        return ipv6.getScopeId() == 0 ? link.index() : ipv6.getScopeId();
    }

    private DatagramPath pathToHop(NetworkSnapshot snapshot, InetSocketAddress destination, IpAddress target,
            IpAddress source, NetworkSnapshot.Path path) throws SocketException {
        SocketErrors.requireSameVersion(source, target);
        NextHop hop = neighbors.find(snapshot, path.link().index(), path.nextHop(), loop);
        boolean resolved = hop.isResolved();
        return DatagramPath.byHop(resolved ? DatagramPath.Kind.DEVICE : DatagramPath.Kind.UNRESOLVED,
                snapshot.generation(), destination, source, bound().port(), target, path.link().mac(),
                resolved ? hop.mac() : 0, hop,
                Math.min(path.mtuBytes(), ipContext.pathMtus().limit(target, System.nanoTime())));
    }

    @Override
    protected final long sourceMac() throws SocketException {
        return link(host.snapshot()).mac();
    }

    @Override
    protected final int groupMtuBytes() throws SocketException {
        return link(host.snapshot()).mtuBytes();
    }

    @Override
    protected final IpAddress defaultGroupSource(IpAddress target) throws SocketException {
        NetworkSnapshot snapshot = host.snapshot();
        IpAddress source = snapshot.groupSource(link(snapshot), target);
        if (source != null) {
            return source;
        }
        throw new SocketException("Network is unreachable: " + linkName + " has no address to send to " + target
                + " from");
    }
}
