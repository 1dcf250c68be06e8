package io.rdmaraw.channel;

import io.netty.channel.EventLoop;
import io.rdmaraw.route.IpAddress;
import io.rdmaraw.route.Link;
import io.rdmaraw.route.Neighbor;
import io.rdmaraw.route.NetworkSnapshot;
import io.rdmaraw.route.PortPlaceholder;
import io.rdmaraw.route.PortSharing;
import io.rdmaraw.verbs.FlowSpec;
import io.rdmaraw.wire.IpProtocol;

import java.io.IOException;
import java.net.BindException;
import java.net.InetSocketAddress;
import java.net.NoRouteToHostException;
import java.net.SocketException;
import java.util.ArrayList;
import java.util.List;

/**
 * The kernel's network for one loop's TCP: the kernel's own MAC and IP addresses, its routes and neighbours. A
 * listener's rule names the port, a connection's both ends; a kernel socket that is bound to the port keeps other
 * programs off it.
 */
final class SharedTcpNetwork implements TcpNetwork {
    private final String deviceName;
    private final String linkName;
    private final IpHost host;
    private final LoopNeighbors neighbors;
    private final EventLoop loop;

    SharedTcpNetwork(String deviceName, DatagramLoop datagrams, EventLoop loop) throws IOException {
        this.deviceName = deviceName;
        this.loop = loop;
        host = HostNetwork.ofCallingThread();
        linkName = NetworkDevices.ofDevice(deviceName);
        neighbors = datagrams.neighbors(host);
        link(host.snapshot());
    }

    private record Taken(IpAddress local, int port, List<FlowSpec> flows, PortPlaceholder placeholderOrNull)
            implements Binding {
        @Override
        public void close() {
            if (placeholderOrNull != null) {
                placeholderOrNull.close();
            }
        }
    }

    private Link link(NetworkSnapshot snapshot) throws SocketException {
        Link link = snapshot.link(linkName);
        if (link == null) {
            throw new SocketException("the network interface " + linkName + " of " + deviceName
                    + " does not exist in this network namespace; see `ip link`");
        }
        return link;
    }

    @Override
    public List<FlowSpec> flows() {
        return List.of();
    }

    /** The kernel listens on the port too, so it has a socket there already; see {@link KernelListener}. */
    @Override
    public Binding listen(InetSocketAddress local, PortSharing sharing) throws IOException {
        IpAddress address = IpAddress.of(local.getAddress());
        checkLocal(address);
        List<FlowSpec> flows = new ArrayList<>();
        long mac = link(host.snapshot()).mac();
        for (int version : new int[] {4, 6}) {
            if (address.isAny() || address.version() == version && !address.isLoopback()) {
                flows.add(FlowMatches.tcp(mac, address, local.getPort(), null, 0, version));
            }
        }
        return new Taken(address, local.getPort(), flows, null);
    }

    @Override
    public Binding connect(InetSocketAddress localOrNull, IpAddress remote, int remotePort) throws IOException {
        NetworkSnapshot snapshot = host.snapshot();
        NetworkSnapshot.Path path = snapshot.path(remote, remote.hashCode());
        Link link = link(snapshot);
        if (snapshot.isLocal(remote) || path != null && path.link().index() != link.index()) {
            throw new NoRouteToHostException("No route to host: " + remote + " is not reached by " + linkName
                    + " of " + deviceName + "; use a NioSocketChannel for it, on the same loop if you like");
        }
        if (path == null) {
            throw new NoRouteToHostException("Network is unreachable");
        }
        IpAddress source = path.source();
        int port = 0;
        if (localOrNull != null) {
            port = localOrNull.getPort();
            IpAddress wanted = IpAddress.of(localOrNull.getAddress());
            source = wanted.isAny() ? source : wanted;
        }
        if (source.version() != remote.version()) {
            throw new SocketException("Network is unreachable: " + remote + " cannot be reached from " + source);
        }
        PortPlaceholder placeholder = PortPlaceholder.reserve(IpProtocol.TCP, source, false, port);
        return new Taken(source, placeholder.port(), List.of(FlowMatches.tcp(link.mac(), source, placeholder.port(),
                remote, remotePort, remote.version())), placeholder);
    }

    @Override
    public void checkLocal(IpAddress local) throws IOException {
        if (!local.isAny() && !host.snapshot().isLocal(local)) {
            throw new BindException("Cannot assign requested address: " + local + " is not an address of this host");
        }
    }

    @Override
    public boolean isSteered() {
        return true;
    }

    @Override
    public boolean isKernelServed() {
        return true;
    }

    @Override
    public void await(WaitingPacket packet) {
        neighbors.await(packet);
    }

    @Override
    public long generation() {
        return host.snapshot().generation();
    }

    @Override
    public TcpPath path(long sourceHigh, long sourceLow, int sourcePort, long targetHigh, long targetLow,
                        int targetPort) {
        NetworkSnapshot snapshot = host.snapshot();
        IpAddress target = new IpAddress(targetHigh, targetLow);
        NetworkSnapshot.Path path = snapshot.path(target, target.hashCode());
        if (path == null || !path.link().name().equals(linkName)) {
            return null;
        }
        int linkIndex = path.link().index();
        Neighbor neighbor = snapshot.neighbor(linkIndex, path.nextHop());
        boolean resolved = neighbor != null && neighbor.isResolved();
        return new TcpPath(snapshot.generation(), path.link().mac(), resolved ? neighbor.mac() : 0,
                new DatagramPath.NextHop(linkIndex, path.nextHop(), resolved
                        ? neighbors.known(linkIndex, path.nextHop(), neighbor.mac(), loop) : null));
    }
}
