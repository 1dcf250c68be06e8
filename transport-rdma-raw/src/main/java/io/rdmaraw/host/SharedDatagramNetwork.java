package io.rdmaraw.host;

import io.rdmaraw.net.IpAddress;
import io.rdmaraw.net.Link;
import io.rdmaraw.net.LocalAddress;
import io.rdmaraw.net.NetworkSnapshot;
import io.rdmaraw.net.PortSharing;
import io.rdmaraw.net.SourceFilter;
import io.rdmaraw.verbs.flow.FlowSpec;
import io.rdmaraw.wire.IpProtocol;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.util.List;

/**
 * The kernel's network for one datagram channel: the kernel's own MAC and IP addresses, its routes and neighbours. What
 * is for this host, for other interfaces, or in fragments goes by the kernel's socket of the same port.
 */
public final class SharedDatagramNetwork extends LinkDatagramNetwork {
    /** What comes for the rest of a link's addresses goes by the kernel's socket. */
    private static final int MAX_WILDCARD_RULES = 64;

    private final KernelSocket kernel;

    public SharedDatagramNetwork(String deviceName, boolean ipv4Only, Options options, KernelSocket kernel)
            throws IOException {
        super(deviceName, KernelIpHost.ofCallingThread(), ipv4Only, options);
        this.kernel = kernel;
    }

    @Override
    protected BoundPort takePort(InetSocketAddress wanted, PortSharing sharing) throws IOException {
        int port = kernel.bind(wanted, sharing, options().mark());
        return new BoundPort(IpProtocol.UDP, 0, localOf(wanted), !isIpv4Only(), port, null, 0, sharing, null,
                new PortUse(false));
    }

    @Override
    protected BoundPort connectPort(BoundPort port, InetSocketAddress remote) throws IOException {
        IpAddress local = IpAddress.of(kernel.connect(remote));
        return port.with(local, IpAddress.of(remote.getAddress()), remote.getPort());
    }

    @Override
    protected BoundPort disconnectPort(BoundPort port) throws IOException {
        kernel.disconnect();
        return port.with(boundLocal(), null, 0);
    }

    @Override
    public void unbind() {
        kernel.close();
    }

    /** The kernel's socket joins too, so that the kernel answers the queries of IGMP and MLD. */
    @Override
    public void announce(GroupChange change, SourceFilter filter) throws IOException {
        NetworkInterface chosen = change.interfaceOrNull();
        kernel.changeGroup(change, chosen == null ? linkIndex() : chosen.getIndex());
    }

    /** Those of the link; what comes for addresses of other links goes by the kernel's socket. */
    @Override
    protected List<IpAddress> wildcardAddresses(NetworkSnapshot snapshot) {
        Link link = snapshot.link(linkName());
        return link == null ? List.of() : snapshot.addresses().stream()
                .filter(address -> address.linkIndex() == link.index() && address.isUsable())
                .map(LocalAddress::address).distinct().limit(MAX_WILDCARD_RULES).toList();
    }

    @Override
    public boolean isKernelServed() {
        return true;
    }

    /** The port is the channel's, also for groups: the kernel's socket of the port gets nothing of it. */
    @Override
    protected FlowSpec togetherWithKernel(FlowSpec rule) {
        return rule;
    }

    @Override
    protected DatagramPath elsewhere(NetworkSnapshot snapshot, InetSocketAddress destination, IpAddress target,
            IpAddress source) throws IOException {
        return direct(DatagramPath.Kind.KERNEL, snapshot.generation(), destination, target, source, 0);
    }
}
