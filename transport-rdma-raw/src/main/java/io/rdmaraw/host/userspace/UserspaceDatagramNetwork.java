package io.rdmaraw.host.userspace;

import io.netty.buffer.ByteBuf;
import io.rdmaraw.host.BoundPort;
import io.rdmaraw.host.DatagramPath;
import io.rdmaraw.host.GroupChange;
import io.rdmaraw.host.LinkDatagramNetwork;
import io.rdmaraw.host.PortOwner;
import io.rdmaraw.host.SocketErrors;
import io.rdmaraw.net.IpAddress;
import io.rdmaraw.net.LocalAddress;
import io.rdmaraw.net.NetworkSnapshot;
import io.rdmaraw.net.PortSharing;
import io.rdmaraw.net.SourceFilter;
import io.rdmaraw.verbs.flow.FlowSpec;
import io.rdmaraw.wire.IpProtocol;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.NoRouteToHostException;
import java.util.List;

/** The network of one datagram channel on a userspace host. The kernel is not involved. */
public final class UserspaceDatagramNetwork extends LinkDatagramNetwork {
    private final UserspaceIpHost host;
    private final PortOwner owner;

    /** @param owner receives packets that match no rule of the channel */
    public UserspaceDatagramNetwork(String deviceName, UserspaceIpHost host, boolean ipv4Only, Options options,
            PortOwner owner) throws IOException {
        super(deviceName, host, ipv4Only, options);
        this.host = host;
        this.owner = owner;
    }

    @Override
    protected BoundPort bindPort(InetSocketAddress wanted, PortSharing sharing) throws IOException {
        return host.bind(IpProtocol.UDP, localOf(wanted), !isIpv4Only(), wanted.getPort(), sharing, owner);
    }

    @Override
    protected BoundPort connectPort(BoundPort port, InetSocketAddress remote) throws IOException {
        IpAddress target = IpAddress.of(remote.getAddress());
        IpAddress source = port.local().isAny() ? sourceFor(target, remote) : port.local();
        return host.connect(port, source, target, remote.getPort());
    }

    private IpAddress sourceFor(IpAddress target, InetSocketAddress remote) throws NoRouteToHostException {
        NetworkSnapshot snapshot = host.snapshot();
        if (snapshot.isLocal(target)) {
            return target;
        }
        NetworkSnapshot.Path path = host.path(snapshot, target, null, options().mark(),
                NetworkSnapshot.NO_LINK);
        if (path == null || path.source() == null) {
            throw SocketErrors.noRoute(remote);
        }
        return path.source();
    }

    @Override
    protected BoundPort disconnectPort(BoundPort port) {
        return host.connect(port, boundLocal(), null, 0);
    }

    @Override
    public void unbind() {
        BoundPort bound = bound();
        if (bound != null) {
            host.unbind(bound);
        }
    }

    /**
     * Returns all usable addresses of the host. Packets to other addresses at its MAC address are not for this host
     * (RFC 1122 section 3.2.1.3).
     */
    @Override
    protected List<IpAddress> wildcardAddresses(NetworkSnapshot snapshot) {
        return snapshot.addresses().stream().filter(LocalAddress::isUsable).map(LocalAddress::address).toList();
    }

    /**
     * Returns true: the rule of the host, rather than a kernel socket, receives the datagrams that no other rule
     * matches.
     */
    @Override
    public boolean hasFallbackReceiver() {
        return true;
    }

    @Override
    protected FlowSpec withKernelCopy(FlowSpec rule) {
        return rule.toBuilder().dontTrap().build();
    }

    @Override
    protected DatagramPath offLinkPath(NetworkSnapshot snapshot, InetSocketAddress destination, IpAddress target,
            IpAddress source) throws IOException {
        if (!snapshot.isLocal(target)) {
            throw SocketErrors.noRoute(destination);
        }
        return direct(DatagramPath.Kind.SELF, snapshot.generation(), destination, target, source, 0);
    }

    /** Delivers the datagram within the host, because a device does not loop frames back to their sender. */
    @Override
    public boolean deliverLocally(DatagramPath path, ByteBuf content, int index, int lengthBytes) {
        return host.deliverLocally(path, content, index, lengthBytes);
    }

    /** Reports the membership on the link. The group's datagrams are received by the rules of the channel. */
    @Override
    public void announce(GroupChange change, SourceFilter filter) {
        host.setGroup(bound(), change.group(), filter);
    }
}
