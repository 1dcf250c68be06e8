package io.rdmaraw.host;

import io.rdmaraw.route.IpAddress;
import io.rdmaraw.route.LoopEndpoint;
import io.rdmaraw.route.LoopHost;
import io.rdmaraw.route.PortSharing;
import io.rdmaraw.verbs.FlowSpec;
import io.rdmaraw.wire.IpProtocol;

import java.io.IOException;
import java.net.BindException;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.net.NoRouteToHostException;
import java.net.SocketException;
import java.util.List;

/**
 * The network of a loop device for one loop's TCP. The loop's connections share a MAC address, so that one rule serves
 * them all; the ports are the {@link LoopHost}'s.
 */
public final class LoopTcpNetwork implements TcpNetwork {
    private final String deviceName;
    private final LoopHost host;
    private final long mac = LoopHost.newMac();
    /** Connections in a row mostly go to the same loop. */
    private TcpPath latest;

    public LoopTcpNetwork(String deviceName) {
        this.deviceName = deviceName;
        host = LoopHost.of(deviceName);
    }

    private record Taken(LoopHost host, LoopEndpoint endpoint) implements Binding {
        @Override
        public IpAddress local() {
            return endpoint.local();
        }

        @Override
        public int port() {
            return endpoint.port();
        }

        @Override
        public List<FlowSpec> flows() {
            return List.of();
        }

        @Override
        public void close() {
            host.close(endpoint);
        }
    }

    @Override
    public List<FlowSpec> flows() {
        return List.of(FlowMatches.toMac(mac, FlowMatches.REST_PRIORITY).ipv4().tcp().allowHostTraffic().build(),
                FlowMatches.toMac(mac, FlowMatches.REST_PRIORITY).ipv6().tcp().allowHostTraffic().build());
    }

    @Override
    public Binding listen(InetSocketAddress local, PortSharing sharing) throws IOException {
        IpAddress address = IpAddress.of(local.getAddress());
        return new Taken(host, host.bind(IpProtocol.TCP, mac, address, address.isAny(), local.getPort(), sharing));
    }

    @Override
    public Binding connect(InetSocketAddress localOrNull, IpAddress remote, int remotePort) throws IOException {
        IpAddress source = host.sourceFor(remote);
        int port = 0;
        if (localOrNull != null) {
            port = localOrNull.getPort();
            IpAddress wanted = IpAddress.of(localOrNull.getAddress());
            source = wanted.isAny() ? source : wanted;
        }
        if (source.version() != remote.version()) {
            throw new SocketException("Network is unreachable: " + remote + " cannot be reached from " + source);
        }
        if (host.find(IpProtocol.TCP, source, port, remote, remotePort) == null) {
            if (!host.isLocal(remote)) {
                throw new NoRouteToHostException("Network is unreachable: " + deviceName + " does not lead to "
                        + remote);
            }
            throw new ConnectException("Connection refused");
        }
        return new Taken(host, host.bind(IpProtocol.TCP, mac, source, false, port, PortSharing.NONE));
    }

    @Override
    public void checkLocal(IpAddress local) throws IOException {
        if (!local.isAny() && !host.isLocal(local)) {
            throw new BindException("Cannot assign requested address: " + local + " is not an address of this host");
        }
    }

    @Override
    public boolean reaches(InetSocketAddress localOrNull, IpAddress remote) {
        return host.isLocal(remote);
    }

    @Override
    public boolean isSteered() {
        return false;
    }

    /** The hash of the host chooses among those that share a port. */
    @Override
    public Binding join(Binding listening) {
        LoopEndpoint first = ((Taken) listening).endpoint;
        return first.mac() == mac ? null : new Taken(host, host.share(first, mac));
    }

    @Override
    public boolean isKernelServed() {
        return false;
    }

    /** Every address is known. */
    @Override
    public void await(WaitingPacket packet) {
        packet.discard();
    }

    /** A MAC address stays a port's as long as there is a connection to it. */
    @Override
    public long generation() {
        return 0;
    }

    @Override
    public TcpPath path(long sourceHigh, long sourceLow, int sourcePort, long targetHigh, long targetLow,
                        int targetPort) {
        LoopEndpoint to = host.find(IpProtocol.TCP, new IpAddress(sourceHigh, sourceLow), sourcePort,
                new IpAddress(targetHigh, targetLow), targetPort);
        if (to == null) {
            return null;
        }
        if (latest == null || latest.targetMac() != to.mac()) {
            latest = new TcpPath(0, mac, to.mac(), Integer.MAX_VALUE, null);
        }
        return latest;
    }
}
