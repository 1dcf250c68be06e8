package io.rdmaraw.host;

import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import io.rdmaraw.net.IpAddress;
import io.rdmaraw.net.PortSharing;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.concurrent.ScheduledExecutorService;

/**
 * The kernel's network for one loop's TCP: the kernel's own MAC and IP addresses, its routes and neighbours. Kernel
 * sockets that are bound to the ports keep other programs off them; what ICMP says of our segments comes by the kernel.
 */
public final class SharedTcpNetwork extends LinkTcpNetwork {
    private static final InternalLogger LOGGER = InternalLoggerFactory.getInstance(SharedTcpNetwork.class);

    private final HostIcmp icmp;
    private final EphemeralPorts ports;
    /** Null where nothing is to be had from the kernel. */
    private HostSegments segments;

    public SharedTcpNetwork(String deviceName, IpContext hostView, ScheduledExecutorService loop)
            throws IOException {
        super(deviceName, KernelIpHost.ofCallingThread(), hostView, loop);
        icmp = HostIcmp.ofCallingThread();
        ports = EphemeralPorts.ofCallingThread();
    }

    @Override
    public void joined(PortOwner stack) {
        icmp.add(stack);
        try {
            segments = HostSegments.join(linkName(), stack);
        } catch (IOException e) {
            LOGGER.warn("TCP segments in fragments cannot be had from the kernel", e);
        }
    }

    @Override
    public void left(PortOwner stack) {
        icmp.remove(stack);
        if (segments != null) {
            segments.leave(stack);
        }
    }

    /** The kernel listens on the port too, so it has a socket there already. */
    @Override
    protected Port takePort(IpAddress local, int port, PortSharing sharing) {
        return held(port, () -> { });
    }

    @Override
    protected Port takePort(IpAddress local, int port, IpAddress remote, int remotePort) throws IOException {
        EphemeralPorts.Reservation taken = ports.take(local, scopeOf(local), port, remote, remotePort);
        return held(taken.port(), taken::close);
    }

    /** What the kernel puts together for the port is ours. */
    private Port held(int port, Runnable giveBack) {
        HostSegments from = segments;
        if (from == null) {
            return new Port(port, null, giveBack);
        }
        from.hold(port);
        return new Port(port, null, () -> {
            from.release(port);
            giveBack.run();
        });
    }

    @Override
    protected String elsewhere(IpAddress remote) {
        return remote + " is not reached by " + linkName() + " of " + deviceName() + " any more; connect again";
    }

    @Override
    public boolean isForKernel(InetSocketAddress localOrNull, InetAddress remote, int mark) {
        return isOfOtherLink(remote) || !reaches(localOrNull, IpAddress.of(remote), mark);
    }

    @Override
    public boolean isKernelServed() {
        return true;
    }
}
