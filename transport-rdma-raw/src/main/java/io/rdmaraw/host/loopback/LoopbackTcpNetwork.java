package io.rdmaraw.host.loopback;

import io.rdmaraw.host.BoundPort;
import io.rdmaraw.host.FlowSpecs;
import io.rdmaraw.host.PendingPacket;
import io.rdmaraw.host.PortTable;
import io.rdmaraw.host.SocketErrors;
import io.rdmaraw.host.TcpNetwork;
import io.rdmaraw.host.TcpPath;
import io.rdmaraw.net.IpAddress;
import io.rdmaraw.net.PortSharing;
import io.rdmaraw.verbs.flow.FlowSpec;
import io.rdmaraw.wire.IpProtocol;

import java.io.IOException;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.util.List;

/**
 * The network of one loop's TCP on a loopback device. All connections of the loop share a MAC address, so that one rule
 * covers them. The ports belong to the {@link LoopbackHost}.
 */
public final class LoopbackTcpNetwork implements TcpNetwork {
    private final String deviceName;
    private final LoopbackHost host;
    private final PortTable ports;
    private final long mac = LoopbackHost.newMac();
    /** The last path, which is reused because consecutive connections mostly lead to the same loop. */
    private TcpPath latest;

    public LoopbackTcpNetwork(String deviceName) {
        this.deviceName = deviceName;
        host = LoopbackHost.of(deviceName);
        ports = host.ports();
    }

    private record BoundBinding(PortTable ports, BoundPort bound) implements Binding {
        @Override
        public IpAddress local() {
            return bound.local();
        }

        @Override
        public int port() {
            return bound.port();
        }

        @Override
        public List<FlowSpec> flows() {
            return List.of();
        }

        @Override
        public void setListening(boolean listening) {
            bound.use().setListening(listening);
        }

        @Override
        public void close() {
            ports.unbind(bound);
        }
    }

    @Override
    public List<FlowSpec> flows() {
        return List.of(FlowSpecs.toMac(mac, FlowSpecs.CATCH_ALL_PRIORITY).ipv4().tcp().allowHostTraffic().build(),
                FlowSpecs.toMac(mac, FlowSpecs.CATCH_ALL_PRIORITY).ipv6().tcp().allowHostTraffic().build());
    }

    @Override
    public Binding listen(InetSocketAddress local, PortSharing sharing) throws IOException {
        IpAddress address = IpAddress.of(local.getAddress());
        return new BoundBinding(ports, ports.listen(mac, address, local.getPort(), sharing, null));
    }

    @Override
    public Binding connect(InetSocketAddress localOrNull, IpAddress remote, int remotePort, int mark)
            throws IOException {
        IpAddress source = host.sourceFor(remote);
        int port = 0;
        if (localOrNull != null) {
            port = localOrNull.getPort();
            IpAddress wanted = IpAddress.of(localOrNull.getAddress());
            source = wanted.isAny() ? source : wanted;
        }
        SocketErrors.requireSameVersion(source, remote);
        if (ports.find(IpProtocol.TCP, source, port, remote, remotePort) == null) {
            if (!host.isLocal(remote)) {
                throw SocketErrors.notOnDevice(deviceName, remote);
            }
            throw new ConnectException("Connection refused");
        }
        return new BoundBinding(ports, ports.bind(IpProtocol.TCP, mac, source, false, port, PortSharing.NONE, null));
    }

    @Override
    public Binding reserve(InetSocketAddress local) throws IOException {
        IpAddress address = IpAddress.of(local.getAddress());
        checkLocal(address);
        return new BoundBinding(ports, ports.bind(IpProtocol.TCP, mac, address, address.isAny(), local.getPort(),
                PortSharing.NONE, null));
    }

    @Override
    public void checkLocal(IpAddress local) throws IOException {
        if (!local.isAny() && !host.isLocal(local)) {
            throw SocketErrors.notLocal(local);
        }
    }

    @Override
    public boolean hasRulesPerBinding() {
        return false;
    }

    /** Adds this loop to the port. The hash of a flow selects one of the loops that share it. */
    @Override
    public Binding joinListener(Binding listening) {
        BoundPort first = ((BoundBinding) listening).bound;
        return first.id() == mac ? null : new BoundBinding(ports, ports.share(first, mac));
    }

    @Override
    public boolean isKernelServed() {
        return false;
    }

    /** Never called, because every MAC address is known. */
    @Override
    public void sendWhenResolved(PendingPacket packet) {
        packet.discard();
    }

    /** Returns a constant: a port keeps its MAC address as long as connections to it exist. */
    @Override
    public long generation() {
        return 0;
    }

    @Override
    public TcpPath path(long sourceHigh, long sourceLow, int sourcePort, long targetHigh, long targetLow,
                        int targetPort, int mark, long peerMac) {
        BoundPort to = ports.find(IpProtocol.TCP, new IpAddress(sourceHigh, sourceLow), sourcePort,
                new IpAddress(targetHigh, targetLow), targetPort);
        if (to == null) {
            return null;
        }
        if (latest == null || latest.targetMac() != to.id()) {
            latest = new TcpPath(0, mac, to.id(), Integer.MAX_VALUE, Integer.MAX_VALUE, null);
        }
        return latest;
    }
}
