package io.rdmaraw.channel;

import io.netty.buffer.ByteBuf;
import io.netty.channel.EventLoop;
import io.rdmaraw.host.DatagramPath;
import io.rdmaraw.host.GroupChange;
import io.rdmaraw.host.HostView;
import io.rdmaraw.host.LinkNetwork;
import io.rdmaraw.host.PortOwner;
import io.rdmaraw.route.IpAddress;
import io.rdmaraw.route.LocalAddress;
import io.rdmaraw.route.LoopEndpoint;
import io.rdmaraw.route.NetworkSnapshot;
import io.rdmaraw.route.PortSharing;
import io.rdmaraw.route.SourceFilter;
import io.rdmaraw.verbs.FlowSpec;
import io.rdmaraw.wire.IpProtocol;

import java.io.IOException;
import java.net.BindException;
import java.net.InetSocketAddress;
import java.net.NoRouteToHostException;
import java.util.List;

/** The network of a host of our own for one datagram channel: the kernel has no part in it. */
final class OwnNetwork extends LinkNetwork {
    private final OwnNetworkHost host;
    private final PortOwner port;
    private volatile LoopEndpoint endpoint;

    /** @param port who gets what comes by no rule of the channel's own */
    OwnNetwork(String deviceName, OwnNetworkHost host, boolean ipv4Only, Options options,
               PortOwner port, HostView hostView, EventLoop loop) throws IOException {
        super(deviceName, host, ipv4Only, options, hostView, loop);
        this.host = host;
        this.port = port;
    }

    @Override
    protected int takePort(InetSocketAddress wanted, PortSharing sharing) throws IOException {
        IpAddress address = IpAddress.of(wanted.getAddress());
        if (isIpv4Only() && !address.isIpv4()) {
            if (!address.isAny()) {
                throw new BindException("an IPv4 channel cannot be bound to " + wanted);
            }
            address = IpAddress.ANY_IPV4;
        }
        endpoint = host.bind(IpProtocol.UDP, address, !isIpv4Only(), wanted.getPort(), sharing, port);
        return endpoint.port();
    }

    @Override
    protected IpAddress connectPort(InetSocketAddress remote) throws IOException {
        IpAddress target = IpAddress.of(remote.getAddress());
        IpAddress source = endpoint.local();
        if (source.isAny()) {
            source = sourceFor(target, remote);
        }
        endpoint = host.connect(endpoint, source, target, remote.getPort());
        return source;
    }

    private IpAddress sourceFor(IpAddress target, InetSocketAddress remote) throws NoRouteToHostException {
        NetworkSnapshot snapshot = host.snapshot();
        if (snapshot.isLocal(target)) {
            return target;
        }
        NetworkSnapshot.Path path = host.path(snapshot, target, null);
        if (path == null) {
            throw new NoRouteToHostException("Network is unreachable: there is no route to " + remote);
        }
        return path.source();
    }

    @Override
    protected void disconnectPort(IpAddress local) {
        endpoint = host.connect(endpoint, local, null, 0);
    }

    @Override
    public void unbind() {
        LoopEndpoint bound = endpoint;
        if (bound != null) {
            host.unbind(bound);
        }
    }

    /** What is for other addresses at the host's MAC address is not for this host (RFC 1122 section 3.2.1.3). */
    @Override
    protected List<IpAddress> wildcardAddresses(NetworkSnapshot snapshot) {
        return snapshot.addresses().stream().filter(LocalAddress::isUsable).map(LocalAddress::address).toList();
    }

    /** The host's own rule takes what no other does. */
    @Override
    public boolean isKernelServed() {
        return true;
    }

    @Override
    protected FlowSpec togetherWithKernel(FlowSpec rule) {
        return rule.toBuilder().dontTrap().build();
    }

    @Override
    protected DatagramPath elsewhere(NetworkSnapshot snapshot, InetSocketAddress destination, IpAddress target,
                           IpAddress source) throws IOException {
        if (!snapshot.isLocal(target)) {
            throw new NoRouteToHostException("Network is unreachable: there is no route to " + destination);
        }
        return direct(snapshot, DatagramPath.Kind.SELF, destination, target, source, 0);
    }

    /** A device does not bring a host's own frames back to it. */
    @Override
    public boolean handOver(DatagramPath path, ByteBuf content, int index, int lengthBytes) {
        return host.handOver(path, content, index, lengthBytes);
    }

    /** The channel's own rules bring the group's datagrams; its host tells the link that they are wanted. */
    @Override
    public void announce(GroupChange change, SourceFilter filter) {
        host.setGroup(endpoint, change.group(), filter);
    }
}
