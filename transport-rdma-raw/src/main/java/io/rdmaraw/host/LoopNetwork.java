package io.rdmaraw.host;

import io.rdmaraw.route.IpAddress;
import io.rdmaraw.route.LoopEndpoint;
import io.rdmaraw.route.LoopHost;
import io.rdmaraw.route.PortSharing;
import io.rdmaraw.verbs.FlowSpec;
import io.rdmaraw.verbs.FlowSpecBuilder;
import io.rdmaraw.wire.EthernetHeader;
import io.rdmaraw.wire.IpProtocol;

import java.io.IOException;
import java.net.BindException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NoRouteToHostException;
import java.net.SocketException;
import java.util.ArrayList;
import java.util.List;

/** The network of a loop device for one datagram channel: a {@link LoopHost} that frames never leave. */
public final class LoopNetwork implements DatagramNetwork {
    private final String deviceName;
    private final LoopHost host;
    private final boolean ipv4Only;
    private final Options options;
    private final KernelSocket kernel;
    private InetSocketAddress boundAddress;
    private volatile LoopEndpoint endpoint;

    /**
     * @param ipv4Only whether the channel is for IPv4 alone
     * @param kernel the kernel's side of the port; used when the device's host is the one the kernel serves
     */
    public LoopNetwork(String deviceName, boolean ipv4Only, Options options, KernelSocket kernel) {
        this.deviceName = deviceName;
        this.ipv4Only = ipv4Only;
        this.options = options;
        this.kernel = kernel;
        host = LoopHost.of(deviceName);
    }

    @Override
    public String deviceName() {
        return deviceName;
    }

    private boolean usesKernel() {
        return host.isKernelHost() && options.isKernelSocket();
    }

    @Override
    public InetSocketAddress bind(InetSocketAddress local) throws IOException {
        IpAddress address = IpAddress.of(local.getAddress());
        if (ipv4Only && !address.isIpv4()) {
            if (!address.isAny()) {
                throw new BindException("an IPv4 channel cannot be bound to " + local);
            }
            address = IpAddress.ANY_IPV4;
        }
        PortSharing sharing = options.portSharing();
        int port = usesKernel() ? kernel.bind(local, sharing) : local.getPort();
        try {
            endpoint = host.bind(IpProtocol.UDP, address, !ipv4Only, port, sharing);
        } catch (BindException e) {
            kernel.close();
            throw e;
        }
        boundAddress = new InetSocketAddress(local.getAddress(), endpoint.port());
        return boundAddress;
    }

    @Override
    public InetSocketAddress connect(InetSocketAddress remote) throws IOException {
        IpAddress target = targetOf(remote.getAddress());
        LoopEndpoint before = endpoint;
        IpAddress source = sourceFor(IpAddress.of(boundAddress.getAddress()), target, null);
        if (usesKernel()) {
            kernel.connect(remote);
        }
        endpoint = host.connect(before, source, target, remote.getPort());
        return new InetSocketAddress(
                source.equals(before.local()) ? boundAddress.getAddress() : source.toInetAddress(), before.port());
    }

    @Override
    public InetSocketAddress disconnect() throws IOException {
        kernel.disconnect();
        IpAddress address = IpAddress.of(boundAddress.getAddress());
        endpoint = host.connect(endpoint, ipv4Only && address.isAny() ? IpAddress.ANY_IPV4 : address, null, 0);
        return boundAddress;
    }

    @Override
    public void unbind() {
        LoopEndpoint bound = endpoint;
        if (bound != null) {
            host.close(bound);
        }
        kernel.close();
    }

    @Override
    public List<FlowSpec> flows() {
        LoopEndpoint bound = endpoint;
        List<FlowSpec> flows = new ArrayList<>();
        if (bound.takesVersion(4)) {
            flows.add(unicast(bound, 4));
            flows.add(rest(bound).ipv4().build());
            if (bound.remoteOrNull() == null && bound.local().isAny()) {
                flows.add(FlowMatches.udp(EthernetHeader.BROADCAST, bound.local(), bound.port(), null, 0, 4));
            }
        }
        if (bound.takesVersion(6)) {
            flows.add(unicast(bound, 6));
            flows.add(rest(bound).ipv6().build());
        }
        return flows;
    }

    @Override
    public List<FlowSpec> spreadFlows() {
        // Every bound port has a MAC address of its own; the sender chooses among those of one port.
        return List.of();
    }

    @Override
    public List<FlowSpec> coarseFlows() {
        return List.of(rest(endpoint).build());
    }

    @Override
    public boolean isKernelServed() {
        return false;
    }

    private static FlowSpec unicast(LoopEndpoint bound, int ipVersion) {
        return FlowMatches.udp(bound.mac(), bound.local(), bound.port(), bound.remoteOrNull(), bound.remotePort(),
                ipVersion);
    }

    private static FlowSpecBuilder rest(LoopEndpoint bound) {
        return FlowMatches.toMac(bound.mac(), FlowMatches.REST_PRIORITY).allowHostTraffic();
    }

    @Override
    public List<FlowSpec> groupFlows(InetSocketAddress group) {
        IpAddress address = IpAddress.of(group.getAddress());
        return List.of(FlowMatches.group(address).udp().destinationPort(group.getPort()).build(),
                FlowMatches.groupFragments(address));
    }

    @Override
    public boolean isWithinHost() {
        return true;
    }

    @Override
    public long generation() {
        return host.generation();
    }

    @Override
    public DatagramPath resolve(InetSocketAddress destination, InetSocketAddress sourceOrNull) throws IOException {
        long generation = host.generation();
        LoopEndpoint from = endpoint;
        IpAddress target = targetOf(destination.getAddress());
        int port = destination.getPort();
        boolean broadcast = target.equals(IpAddress.BROADCAST);
        if (broadcast && !options.isBroadcast()) {
            throw new SocketException("Permission denied: " + destination
                    + " is a broadcast address; set ChannelOption.SO_BROADCAST to send to it");
        }
        IpAddress source = sourceFor(from.local(), target, sourceOrNull);
        DatagramPath.Kind kind = DatagramPath.Kind.DEVICE;
        long mac = EthernetHeader.BROADCAST;
        if (target.isMulticast()) {
            mac = FlowMatches.groupMac(target);
        } else if (!broadcast) {
            LoopEndpoint to = host.find(IpProtocol.UDP, source, from.port(), target, port);
            if (to == null && usesKernel()) {
                kind = DatagramPath.Kind.KERNEL;
            } else if (to == null && !host.isLocal(target)) {
                throw new NoRouteToHostException("Network is unreachable: " + deviceName + " does not lead to "
                        + destination);
            } else if (to == null) {
                kind = DatagramPath.Kind.PORT_UNREACHABLE;
            } else {
                mac = to.mac();
            }
        }
        return DatagramPath.direct(kind, generation, destination, source, from.port(), target, from.mac(), mac);
    }

    /** A datagram to a wildcard address goes to this host, as on Linux. */
    private IpAddress targetOf(InetAddress address) throws SocketException {
        IpAddress target = IpAddress.of(address);
        if (target.isAny()) {
            return target.isIpv4() ? IpAddress.LOOPBACK_IPV4 : IpAddress.LOOPBACK_IPV6;
        }
        if (ipv4Only && !target.isIpv4()) {
            throw new SocketException("Address family not supported by protocol: an IPv4 channel cannot send to "
                    + target);
        }
        return target;
    }

    private IpAddress sourceFor(IpAddress bound, IpAddress target, InetSocketAddress chosenOrNull)
            throws SocketException {
        IpAddress source = bound;
        if (bound.isAny() && chosenOrNull != null && !chosenOrNull.getAddress().isAnyLocalAddress()) {
            source = IpAddress.of(chosenOrNull.getAddress());
        } else if (bound.isAny() && (target.isMulticast() || target.equals(IpAddress.BROADCAST))) {
            source = groupSource(target);
        } else if (bound.isAny()) {
            source = host.sourceFor(target);
        }
        if (source.version() != target.version()) {
            throw new SocketException("Network is unreachable: " + target + " cannot be reached from " + source);
        }
        return source;
    }

    private IpAddress groupSource(IpAddress target) {
        InetAddress chosen = options.groupSourceOrNull(target.isIpv4());
        return chosen != null ? IpAddress.of(chosen)
                : target.isIpv4() ? IpAddress.LOOPBACK_IPV4 : IpAddress.LOOPBACK_IPV6;
    }
}
