package io.rdmaraw.host;

import io.rdmaraw.route.IpAddress;
import io.rdmaraw.route.Link;
import io.rdmaraw.route.LocalAddress;
import io.rdmaraw.route.NetworkSnapshot;
import io.rdmaraw.route.PortSharing;
import io.rdmaraw.route.Route;
import io.rdmaraw.verbs.FlowSpec;
import io.rdmaraw.verbs.FlowSpecBuilder;
import io.rdmaraw.wire.EthernetHeader;

import java.io.IOException;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NoRouteToHostException;
import java.net.SocketException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ScheduledExecutorService;

/**
 * The network of a device that leads to a link, for one datagram channel: rules for the host's MAC and IP addresses,
 * paths by its routes and neighbours. Whose addresses and ports they are is for the subclass.
 */
public abstract class LinkNetwork implements DatagramNetwork {
    private final String deviceName;
    private final String linkName;
    private final boolean ipv4Only;
    private final Options options;
    private final IpHost host;
    private final LoopNeighbors neighbors;
    private final HostView hostView;
    private final ScheduledExecutorService loop;
    private InetSocketAddress boundAddress;
    private IpAddress local;
    private IpAddress remoteOrNull;
    private int localPort;
    private int remotePort;
    private long lastMac;
    /** Other channels may have the same port. */
    private boolean portShared;

    protected LinkNetwork(String deviceName, IpHost host, boolean ipv4Only, Options options, HostView hostView,
                          ScheduledExecutorService loop) throws IOException {
        this.deviceName = deviceName;
        this.ipv4Only = ipv4Only;
        this.options = options;
        this.loop = loop;
        this.host = host;
        linkName = NetworkDevices.ofDevice(deviceName);
        neighbors = hostView.neighbors(host);
        this.hostView = hostView;
        link(host.snapshot());
    }

    /** Takes a port; returns its number. */
    protected abstract int takePort(InetSocketAddress wanted, PortSharing sharing) throws IOException;

    /** Ties the port to a peer; returns the local address from now on. */
    protected abstract IpAddress connectPort(InetSocketAddress remote) throws IOException;

    /** Unties the port from its peer. */
    protected abstract void disconnectPort(IpAddress local) throws IOException;

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

    protected final IpHost host() {
        return host;
    }

    protected final String linkName() {
        return linkName;
    }

    protected final int linkIndex() throws SocketException {
        return link(host.snapshot()).index();
    }

    protected final boolean isIpv4Only() {
        return ipv4Only;
    }

    private Link link(NetworkSnapshot snapshot) throws SocketException {
        Link link = snapshot.link(linkName);
        if (link == null) {
            throw LinkErrors.missing(deviceName, linkName);
        }
        return link;
    }

    @Override
    public final String deviceName() {
        return deviceName;
    }

    @Override
    public final InetSocketAddress bind(InetSocketAddress wanted) throws IOException {
        PortSharing sharing = options.portSharing();
        localPort = takePort(wanted, sharing);
        portShared = sharing.reuseAddress() || sharing.reusePort();
        boundAddress = new InetSocketAddress(wanted.getAddress(), localPort);
        local = unconnectedLocal();
        return boundAddress;
    }

    private IpAddress unconnectedLocal() {
        IpAddress address = IpAddress.of(boundAddress.getAddress());
        return ipv4Only && address.isAny() ? IpAddress.ANY_IPV4 : address;
    }

    @Override
    public final InetSocketAddress connect(InetSocketAddress remote) throws IOException {
        local = connectPort(remote);
        remoteOrNull = IpAddress.of(remote.getAddress());
        remotePort = remote.getPort();
        return new InetSocketAddress(local.toInetAddress(), localPort);
    }

    @Override
    public final InetSocketAddress disconnect() throws IOException {
        local = unconnectedLocal();
        remoteOrNull = null;
        disconnectPort(local);
        return boundAddress;
    }

    private boolean takes(int ipVersion) {
        return local.isAny() && !ipv4Only || local.version() == ipVersion;
    }

    @Override
    public List<FlowSpec> flows() {
        List<FlowSpec> flows = new ArrayList<>();
        if (!isSpread()) {
            addUnicast(flows);
        }
        if (takes(4) && remoteOrNull == null && local.isAny()) {
            flows.add(togetherWithKernel(
                    FlowMatches.udp(EthernetHeader.BROADCAST, local, localPort, null, 0, 4)));
        }
        return flows;
    }

    @Override
    public List<FlowSpec> spreadFlows() {
        List<FlowSpec> flows = new ArrayList<>();
        if (isSpread()) {
            addUnicast(flows);
        }
        return flows;
    }

    /** The rule of the port alone, which all channels can share that are connected from it, or none. */
    @Override
    public List<FlowSpec> coarseFlows() {
        if (remoteOrNull == null || local.isLoopback()) {
            return List.of();
        }
        return List.of(FlowMatches.udp(mac(host.snapshot()), local, localPort, null, 0, local.version()));
    }

    /** A connected channel's rule is its own, as the kernel lets nobody have the same pair of ends. */
    private boolean isSpread() {
        return portShared && remoteOrNull == null;
    }

    private void addUnicast(List<FlowSpec> flows) {
        if (local.isLoopback()) {
            return;
        }
        NetworkSnapshot snapshot = host.snapshot();
        long mac = mac(snapshot);
        for (IpAddress address : local.isAny() ? wildcardAddresses(snapshot) : List.of(local)) {
            for (int version : new int[] {4, 6}) {
                if (takes(version) && (address.isAny() || address.version() == version)) {
                    flows.add(FlowMatches.udp(mac, address, localPort, remoteOrNull, remotePort, version));
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
    public DatagramPath resolve(InetSocketAddress destination, InetSocketAddress sourceOrNull) throws IOException {
        NetworkSnapshot snapshot = host.snapshot();
        IpAddress target = IpAddress.of(destination.getAddress());
        if (ipv4Only && !target.isIpv4()) {
            throw new SocketException("Address family not supported by protocol: an IPv4 channel cannot send to "
                    + target);
        }
        Link link = link(snapshot);
        IpAddress chosen = sourceOrNull != null ? IpAddress.of(sourceOrNull.getAddress()) : local;
        if (target.isMulticast()) {
            return toGroup(snapshot, destination, target, chosen, FlowMatches.groupMac(target));
        }
        Route route = snapshot.route(target);
        if (target.equals(IpAddress.BROADCAST) || route != null && route.type() == Route.BROADCAST) {
            if (!options.isBroadcast()) {
                throw new SocketException("Permission denied: " + destination
                        + " is a broadcast address; set ChannelOption.SO_BROADCAST to send to it");
            }
            return toGroup(snapshot, destination, target, chosen, EthernetHeader.BROADCAST);
        }
        NetworkSnapshot.Path path = isOfLink(destination, target, link) ? snapshot.onLink(link, target)
                : host.path(snapshot, target, chosen.isAny() ? null : chosen);
        if (target.isAny() || snapshot.isLocal(target) || path != null && path.link().index() != link.index()) {
            return elsewhere(snapshot, destination, target, chosen.isAny() ? target : chosen);
        }
        if (path == null) {
            throw new NoRouteToHostException("Network is unreachable: there is no route to " + destination);
        }
        return toHop(snapshot, destination, target, chosen.isAny() ? path.source() : chosen, path);
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
        requireSameVersion(source, target);
        int linkIndex = path.link().index();
        NextHop hop = neighbors.find(snapshot, linkIndex, path.nextHop(), loop);
        boolean resolved = hop.isResolved();
        return new DatagramPath(resolved ? DatagramPath.Kind.DEVICE : DatagramPath.Kind.UNRESOLVED,
                snapshot.generation(), destination, source, localPort, target, destination.getPort(),
                path.link().mac(), resolved ? hop.mac() : 0, hop).limitedTo(path.mtuBytes())
                .limitedTo(hostView.pathMtus().limit(target, System.nanoTime()));
    }

    private DatagramPath toGroup(NetworkSnapshot snapshot, InetSocketAddress destination, IpAddress target,
                                 IpAddress chosen, long mac) throws SocketException {
        IpAddress source = chosen.isAny() ? groupSource(snapshot, target) : chosen;
        requireSameVersion(source, target);
        return direct(snapshot, DatagramPath.Kind.DEVICE, destination, target, source, mac)
                .limitedTo(link(snapshot).mtuBytes());
    }

    protected final DatagramPath direct(NetworkSnapshot snapshot, DatagramPath.Kind kind, InetSocketAddress destination,
                                IpAddress target, IpAddress source, long mac) throws SocketException {
        return DatagramPath.direct(kind, snapshot.generation(), destination, source, localPort, target,
                link(snapshot).mac(), mac);
    }

    private static void requireSameVersion(IpAddress source, IpAddress target) throws SocketException {
        if (source.version() != target.version()) {
            throw new SocketException("Network is unreachable: " + target + " cannot be reached from " + source);
        }
    }

    private IpAddress groupSource(NetworkSnapshot snapshot, IpAddress target) throws SocketException {
        InetAddress chosen = options.groupSourceOrNull(target.isIpv4());
        if (chosen != null) {
            return IpAddress.of(chosen);
        }
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
