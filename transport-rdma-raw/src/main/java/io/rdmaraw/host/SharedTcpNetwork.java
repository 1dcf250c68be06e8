package io.rdmaraw.host;

import io.rdmaraw.route.IpAddress;
import io.rdmaraw.route.PortPlaceholder;
import io.rdmaraw.route.PortSharing;
import io.rdmaraw.wire.IpProtocol;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.concurrent.ScheduledExecutorService;

/**
 * The kernel's network for one loop's TCP: the kernel's own MAC and IP addresses, its routes and neighbours. Kernel
 * sockets that are bound to the ports keep other programs off them; what ICMP says of our segments comes by the kernel.
 */
public final class SharedTcpNetwork extends LinkTcpNetwork {
    private final HostIcmp icmp;

    public SharedTcpNetwork(String deviceName, HostView hostView, ScheduledExecutorService loop)
            throws IOException {
        super(deviceName, HostNetwork.ofCallingThread(), hostView, loop);
        icmp = HostIcmp.ofCallingThread();
    }

    @Override
    public void joined(PortOwner stack) {
        icmp.add(stack);
    }

    @Override
    public void left(PortOwner stack) {
        icmp.remove(stack);
    }

    /** The kernel listens on the port too, so it has a socket there already. */
    @Override
    protected Port takePort(IpAddress local, int port, PortSharing sharing) {
        return new Port(port, () -> { });
    }

    @Override
    protected Port takePort(IpAddress local, int port, IpAddress remote, int remotePort) throws IOException {
        PortPlaceholder placeholder = PortPlaceholder.reserve(IpProtocol.TCP, local, false, port, scopeOf(local));
        return new Port(placeholder.port(), placeholder::close);
    }

    @Override
    protected String elsewhere(IpAddress remote) {
        return remote + " is not reached by " + linkName() + " of " + deviceName() + " any more; connect again";
    }

    @Override
    public boolean isForKernel(InetSocketAddress localOrNull, InetAddress remote) {
        return isOfOtherLink(remote) || !reaches(localOrNull, IpAddress.of(remote));
    }

    @Override
    public boolean isKernelServed() {
        return true;
    }
}
