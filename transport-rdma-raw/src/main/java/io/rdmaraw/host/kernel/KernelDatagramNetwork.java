package io.rdmaraw.host.kernel;

import io.rdmaraw.host.BoundPort;
import io.rdmaraw.host.DatagramPath;
import io.rdmaraw.host.GroupChange;
import io.rdmaraw.host.KernelSocket;
import io.rdmaraw.host.LinkDatagramNetwork;
import io.rdmaraw.host.PortUse;
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
 * The kernel's network for one datagram channel: it uses the MAC and IP addresses, routes and neighbours of the kernel.
 * The kernel socket of the same port carries datagrams to this host, through other interfaces, and in fragments.
 */
public final class KernelDatagramNetwork extends LinkDatagramNetwork {
    /**
     * Maximum number of rules for a wildcard. The kernel socket receives datagrams for the remaining addresses of the
     * link.
     */
    private static final int MAX_WILDCARD_RULES = 64;

    private final KernelSocket kernelSocket;

    public KernelDatagramNetwork(String deviceName, boolean ipv4Only, Options options, KernelSocket kernelSocket)
            throws IOException {
        super(deviceName, KernelIpHost.ofCallingThread(), ipv4Only, options);
        this.kernelSocket = kernelSocket;
    }

    @Override
    protected BoundPort bindPort(InetSocketAddress wanted, PortSharing sharing) throws IOException {
        int port = kernelSocket.bind(wanted, sharing, options().mark(), options().kernelOptions());
        return new BoundPort(IpProtocol.UDP, 0, localOf(wanted), !isIpv4Only(), port, null, 0, sharing, null,
                new PortUse(false));
    }

    @Override
    protected BoundPort connectPort(BoundPort port, InetSocketAddress remote) throws IOException {
        IpAddress local = IpAddress.of(kernelSocket.connect(remote));
        return port.with(local, IpAddress.of(remote.getAddress()), remote.getPort());
    }

    @Override
    protected BoundPort disconnectPort(BoundPort port) throws IOException {
        kernelSocket.disconnect();
        return port.with(boundLocal(), null, 0);
    }

    @Override
    public void unbind() {
        kernelSocket.close();
    }

    /** The kernel socket joins the group, so that the kernel answers IGMP and MLD queries. */
    @Override
    public void announce(GroupChange change, SourceFilter filter) throws IOException {
        NetworkInterface chosen = change.interfaceOrNull();
        kernelSocket.changeGroup(change, chosen == null ? linkIndex() : chosen.getIndex());
    }

    /** Returns the addresses of the link. The kernel socket receives datagrams for addresses of other links. */
    @Override
    protected List<IpAddress> wildcardAddresses(NetworkSnapshot snapshot) {
        Link link = snapshot.link(linkIndex());
        return link == null ? List.of() : snapshot.addresses().stream()
                .filter(address -> address.linkIndex() == link.index() && address.isUsable())
                .map(LocalAddress::address).distinct().limit(MAX_WILDCARD_RULES).toList();
    }

    @Override
    public int scopeId() {
        return linkIndex();
    }

    @Override
    public boolean hasFallbackReceiver() {
        return true;
    }

    /** Leaves the rule unchanged, so that the kernel socket receives no copy of the channel's datagrams. */
    @Override
    protected FlowSpec withKernelCopy(FlowSpec rule) {
        return rule;
    }

    @Override
    protected DatagramPath offLinkPath(NetworkSnapshot snapshot, InetSocketAddress destination, IpAddress target,
            IpAddress source) throws IOException {
        return direct(DatagramPath.Kind.KERNEL, snapshot.generation(), destination, target, source, 0);
    }
}
