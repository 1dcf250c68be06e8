package io.rdmaraw.host;

import io.rdmaraw.net.IpAddress;
import io.rdmaraw.net.Link;
import io.rdmaraw.net.LocalAddress;
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
 * The network of a device that leads to a link, for one datagram channel: rules for the host's MAC and IP addresses,
 * paths by its routes and neighbours. Whose addresses and ports they are is for the subclass.
 */
public abstract class LinkDatagramNetwork extends IpDatagramNetwork {
    private final String linkName;
    private final IpHost host;
    /** These three are of the loop that the channel is on. */
    private LoopNeighbors neighbors;
    private IpContext hostView;
    private ScheduledExecutorService loop;
    private long lastMac;

    protected LinkDatagramNetwork(String deviceName, IpHost host, boolean ipv4Only, Options options)
            throws IOException {
        super(deviceName, ipv4Only, options);
        this.host = host;
        linkName = NetworkDevices.ofDevice(deviceName);
        Refusals.requireLink(host.snapshot(), deviceName, linkName);
    }

    @Override
    public final void moveTo(IpContext newHostView, ScheduledExecutorService newLoop) {
        neighbors = newHostView.neighbors(host);
        hostView = newHostView;
        loop = newLoop;
    }

    /**
     * Returns the addresses that stand in rules for a wildcard. A wildcard itself matches whatever is sent to the MAC
     * address of the link, and a host that forwards packets gets those of others there.
     */
    protected abstract List<IpAddress> wildcardAddresses(NetworkSnapshot snapshot);

    /** Returns a rule for what the kernel may want as well: groups and broadcasts. */
    protected abstract FlowSpec togetherWithKernel(FlowSpec rule);

    /** Returns the path to a destination that is not on the device's link: this host itself, or behind another link. */
    protected abstract DatagramPath elsewhere(NetworkSnapshot snapshot, InetSocketAddress destination, IpAddress target,
            IpAddress source) throws IOException;

    protected final String linkName() {
        return linkName;
    }

    protected final int linkIndex() throws SocketException {
        return link(host.snapshot()).index();
    }

    private Link link(NetworkSnapshot snapshot) throws SocketException {
        return Refusals.requireLink(snapshot, deviceName(), linkName);
    }

    @Override
    public List<FlowSpec> flows() {
        BoundPort bound = bound();
        List<FlowSpec> flows = new ArrayList<>();
        if (!isRss()) {
            addUnicast(flows);
        }
        if (bound.takesVersion(4) && bound.remoteOrNull() == null && bound.local().isAny()) {
            flows.add(togetherWithKernel(
                    FlowMatches.udp(EthernetHeader.BROADCAST, bound.local(), bound.port(), null, 0, 4)));
        }
        return flows;
    }

    @Override
    public List<FlowSpec> rssFlows() {
        List<FlowSpec> flows = new ArrayList<>();
        if (isRss()) {
            addUnicast(flows);
        }
        return flows;
    }

    /** The rule of the port alone, which all channels can share that are connected from it, or none. */
    @Override
    public List<FlowSpec> coarseFlows() {
        BoundPort bound = bound();
        IpAddress local = bound.local();
        if (bound.remoteOrNull() == null || local.isLoopback()) {
            return List.of();
        }
        return List.of(FlowMatches.udp(mac(host.snapshot()), local, bound.port(), null, 0, local.version()));
    }

    /** A connected channel's rule is its own: no other socket can have the same pair of ends. */
    private boolean isRss() {
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
                if (bound.takesVersion(version) && (address.isAny() || address.version() == version)) {
                    flows.add(FlowMatches.udp(mac, address, bound.port(), bound.remoteOrNull(), bound.remotePort(),
                            version));
                }
            }
        }
    }

    /** Returns the link's MAC address, the last one when the link is gone. */
    private long mac(NetworkSnapshot snapshot) {
        Link link = snapshot.link(linkName);
        if (link != null) {
            lastMac = link.mac();
        }
        return lastMac;
    }

    @Override
    public List<FlowSpec> groupFlows(InetSocketAddress group) {
        FlowSpecBuilder flow = FlowMatches.group(IpAddress.of(group.getAddress()));
        return List.of(togetherWithKernel(flow.udp().destinationPort(group.getPort()).build()));
    }

    @Override
    public long generation() {
        return host.snapshot().generation();
    }

    @Override
    protected final boolean isBroadcast(IpAddress target) {
        Route route = host.snapshot().route(target);
        return target.equals(IpAddress.BROADCAST) || route != null && route.type() == Route.BROADCAST;
    }

    @Override
    protected final DatagramPath toHost(long generation, InetSocketAddress destination, IpAddress target,
            IpAddress source) throws IOException {
        NetworkSnapshot snapshot = host.snapshot();
        Link link = link(snapshot);
        NetworkSnapshot.Path path = isOfLink(destination, target, link) ? snapshot.onLink(link, target)
                : host.path(snapshot, target, source.isAny() ? null : source, options().mark());
        if (target.isAny() || snapshot.isLocal(target) || path != null && path.link().index() != link.index()) {
            return elsewhere(snapshot, destination, target, source.isAny() ? target : source);
        }
        if (path == null) {
            throw Refusals.noRoute(destination);
        }
        return toHop(snapshot, destination, target, source.isAny() ? path.source() : source, path);
    }

    /**
     * Link-local addresses are of this link unless they name another (RFC 4007 section 6): every link has the route.
     */
    private static boolean isOfLink(InetSocketAddress destination, IpAddress target, Link link) {
        return target.isLinkLocal() && destination.getAddress() instanceof Inet6Address ipv6
                && (ipv6.getScopeId() == 0 || ipv6.getScopeId() == link.index());
    }

    private DatagramPath toHop(NetworkSnapshot snapshot, InetSocketAddress destination, IpAddress target,
            IpAddress source, NetworkSnapshot.Path path) throws SocketException {
        Refusals.requireSameVersion(source, target);
        int linkIndex = path.link().index();
        NextHop hop = neighbors.find(snapshot, linkIndex, path.nextHop(), loop);
        boolean resolved = hop.isResolved();
        return DatagramPath.byHop(resolved ? DatagramPath.Kind.DEVICE : DatagramPath.Kind.UNRESOLVED,
                snapshot.generation(), destination, source, bound().port(), target, path.link().mac(),
                resolved ? hop.mac() : 0, hop,
                Math.min(path.mtuBytes(), hostView.pathMtus().limit(target, System.nanoTime())));
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
    protected final IpAddress groupSource(IpAddress target) throws SocketException {
        NetworkSnapshot snapshot = host.snapshot();
        int linkIndex = link(snapshot).index();
        for (LocalAddress address : snapshot.addresses()) {
            if (address.linkIndex() == linkIndex && address.address().version() == target.version()
                    && address.isUsable()) {
                return address.address();
            }
        }
        throw new SocketException("Network is unreachable: " + linkName + " has no address to send to " + target
                + " from");
    }
}
