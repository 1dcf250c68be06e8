package io.rdmaraw.host.kernel;

import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import io.rdmaraw.host.IpContext;
import io.rdmaraw.host.LinkTcpNetwork;
import io.rdmaraw.host.PortOwner;
import io.rdmaraw.net.IpAddress;
import io.rdmaraw.net.PortSharing;
import io.rdmaraw.net.socket.PortReservation;
import io.rdmaraw.wire.IpProtocol;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.concurrent.ScheduledExecutorService;

/**
 * The kernel's network for one loop's TCP: it uses the MAC and IP addresses, routes and neighbours of the kernel.
 * Kernel sockets bound to the ports reserve them against other programs. ICMP errors are received from the kernel.
 */
public final class KernelTcpNetwork extends LinkTcpNetwork {
    private static final InternalLogger LOGGER = InternalLoggerFactory.getInstance(KernelTcpNetwork.class);

    private final KernelIcmpReader icmp;
    private final EphemeralPorts ports;
    /** Null if segments cannot be received from the kernel. */
    private KernelSegmentReader segments;

    public KernelTcpNetwork(String deviceName, IpContext ipContext, ScheduledExecutorService loop)
            throws IOException {
        super(deviceName, KernelIpHost.ofCallingThread(), ipContext, loop);
        icmp = KernelIcmpReader.ofCallingThread();
        ports = EphemeralPorts.ofCallingThread();
    }

    @Override
    public void stackStarted(PortOwner stack) {
        icmp.add(stack);
        try {
            segments = KernelSegmentReader.join(linkName(), stack);
        } catch (IOException e) {
            LOGGER.warn("cannot receive fragmented TCP segments from the kernel; they are dropped", e);
        }
    }

    @Override
    public void stackStopped(PortOwner stack) {
        icmp.remove(stack);
        if (segments != null) {
            segments.leave(stack);
        }
    }

    /** Reserves nothing, because the kernel also listens on the port and thus has a socket. */
    @Override
    protected Port bindPort(IpAddress local, int port, PortSharing sharing) {
        return withSegments(port, () -> { });
    }

    @Override
    protected Port bindPort(IpAddress local, int port, IpAddress remote, int remotePort) throws IOException {
        EphemeralPorts.Reservation reservation = ports.reserve(local, scopeOf(local), port, remote, remotePort);
        return withSegments(reservation.port(), reservation::close);
    }

    @Override
    protected Port reservePort(IpAddress local, int port) throws IOException {
        PortReservation reservation = PortReservation.reserve(IpProtocol.TCP, local, local.isAny(), port,
                scopeOf(local));
        return new Port(reservation.port(), null, reservation::close);
    }

    /** Returns the port, and receives the segments for it that the kernel reassembles. */
    private Port withSegments(int port, Runnable releaseAction) {
        KernelSegmentReader from = segments;
        if (from == null) {
            return new Port(port, null, releaseAction);
        }
        from.acquirePort(port);
        return new Port(port, null, () -> {
            from.releasePort(port);
            releaseAction.run();
        });
    }

    @Override
    protected String describeOffLink(IpAddress remote) {
        return remote + " is not reached by " + linkName() + " of " + deviceName() + " any more; connect again";
    }

    /**
     * Also returns true if there is no route. The kernel reports the correct error then, or knows a route that is
     * unknown here.
     */
    @Override
    public boolean isForKernel(InetSocketAddress localOrNull, InetAddress remote, int mark) {
        return isOnOtherLink(remote) || !canReach(localOrNull, IpAddress.of(remote), mark);
    }

    @Override
    public int scopeId() {
        return linkIndex();
    }

    @Override
    public boolean isKernelServed() {
        return true;
    }
}
