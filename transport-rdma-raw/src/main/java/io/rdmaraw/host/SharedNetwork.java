package io.rdmaraw.host;

import io.rdmaraw.route.IpAddress;
import io.rdmaraw.route.Link;
import io.rdmaraw.route.LocalAddress;
import io.rdmaraw.route.NetworkSnapshot;
import io.rdmaraw.route.PortSharing;
import io.rdmaraw.route.SourceFilter;
import io.rdmaraw.verbs.FlowSpec;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.util.List;
import java.util.concurrent.ScheduledExecutorService;

/**
 * The kernel's network for one datagram channel: the kernel's own MAC and IP addresses, its routes and neighbours. What
 * is for this host, for other interfaces, or in fragments goes by the kernel's socket of the same port.
 */
public final class SharedNetwork extends LinkNetwork {
    /** What comes for the rest of a link's addresses goes by the kernel's socket. */
    private static final int MAX_WILDCARD_RULES = 64;

    private final KernelSocket kernel;

    public SharedNetwork(String deviceName, boolean ipv4Only, Options options, KernelSocket kernel,
                  HostView hostView, ScheduledExecutorService loop) throws IOException {
        super(deviceName, HostNetwork.ofCallingThread(), ipv4Only, options, hostView, loop);
        this.kernel = kernel;
    }

    @Override
    protected int takePort(InetSocketAddress wanted, PortSharing sharing) throws IOException {
        return kernel.bind(wanted, sharing);
    }

    @Override
    protected IpAddress connectPort(InetSocketAddress remote) throws IOException {
        return IpAddress.of(kernel.connect(remote));
    }

    @Override
    protected void disconnectPort(IpAddress local) throws IOException {
        kernel.disconnect();
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

    /** The port is ours, whoever else has joined a group: the kernel's socket of the port gets nothing of it. */
    @Override
    protected FlowSpec togetherWithKernel(FlowSpec rule) {
        return rule;
    }

    @Override
    protected DatagramPath elsewhere(NetworkSnapshot snapshot, InetSocketAddress destination, IpAddress target,
                           IpAddress source) throws IOException {
        return direct(snapshot, DatagramPath.Kind.KERNEL, destination, target, source, 0);
    }
}
