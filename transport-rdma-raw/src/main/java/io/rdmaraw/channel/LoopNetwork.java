package io.rdmaraw.channel;

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
final class LoopNetwork implements DatagramNetwork {
    /** The better a rule fits the earlier it is looked at; one shape of match per priority keeps the search short. */
    private static final int CONNECTED_PRIORITY = 0;
    private static final int ADDRESS_PRIORITY = 1;
    private static final int WILDCARD_PRIORITY = 2;
    /** What has no ports: fragments. */
    private static final int REST_PRIORITY = 3;

    private final String deviceName;
    private final LoopHost host;
    private final boolean ipv4Only;
    private final RdmaRawDatagramChannelConfig config;
    private final KernelSocket kernel;
    private InetSocketAddress boundAddress;
    private volatile LoopEndpoint endpoint;

    /**
     * @param ipv4Only whether the channel is for IPv4 alone
     * @param kernel the kernel's side of the port; used when the device's host is the one the kernel serves
     */
    LoopNetwork(String deviceName, boolean ipv4Only, RdmaRawDatagramChannelConfig config, KernelSocket kernel) {
        this.deviceName = deviceName;
        this.ipv4Only = ipv4Only;
        this.config = config;
        this.kernel = kernel;
        host = LoopHost.of(deviceName);
    }

    @Override
    public String deviceName() {
        return deviceName;
    }

    private boolean usesKernel() {
        return host.isKernelHost() && config.isKernelSocket();
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
        PortSharing sharing = new PortSharing(config.isReuseAddress(), config.isReusePort());
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
    public InetSocketAddress disconnect() {
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
            flows.add(unicast(bound, 4).build());
            flows.add(toMac(bound.mac(), REST_PRIORITY).ipv4().allowHostTraffic().build());
            if (bound.remoteOrNull() == null && bound.local().isAny()) {
                flows.add(toMac(EthernetHeader.BROADCAST, WILDCARD_PRIORITY).ipv4().udp()
                        .destinationPort(bound.port()).build());
            }
        }
        if (bound.takesVersion(6)) {
            flows.add(unicast(bound, 6).build());
            flows.add(toMac(bound.mac(), REST_PRIORITY).ipv6().allowHostTraffic().build());
        }
        return flows;
    }

    private static FlowSpecBuilder unicast(LoopEndpoint bound, int ipVersion) {
        boolean connected = bound.remoteOrNull() != null;
        boolean any = bound.local().isAny();
        FlowSpecBuilder flow = toMac(bound.mac(),
                connected ? CONNECTED_PRIORITY : any ? WILDCARD_PRIORITY : ADDRESS_PRIORITY);
        if (ipVersion == 4) {
            flow.ipv4();
        } else {
            flow.ipv6();
        }
        if (!any) {
            setDestination(flow, bound.local());
        }
        if (connected) {
            setSource(flow, bound.remoteOrNull());
        }
        flow.udp().destinationPort(bound.port());
        return connected ? flow.sourcePort(bound.remotePort()) : flow;
    }

    private static FlowSpecBuilder toMac(long mac, int priority) {
        return FlowSpec.builder().priority(priority).destinationMac(mac, EthernetHeader.BROADCAST);
    }

    private static void setDestination(FlowSpecBuilder flow, IpAddress address) {
        String text = address.toString();
        if (address.isIpv4()) {
            flow.ipv4Destination(text);
        } else {
            flow.ipv6Destination(text);
        }
    }

    private static void setSource(FlowSpecBuilder flow, IpAddress address) {
        String text = address.toString();
        if (address.isIpv4()) {
            flow.ipv4Source(text);
        } else {
            flow.ipv6Source(text);
        }
    }

    @Override
    public List<FlowSpec> groupFlows(InetSocketAddress group) {
        IpAddress address = IpAddress.of(group.getAddress());
        FlowSpecBuilder ports = toMac(groupMac(address), ADDRESS_PRIORITY);
        setDestination(ports, address);
        FlowSpecBuilder fragments = toMac(groupMac(address), REST_PRIORITY).allowHostTraffic();
        setDestination(fragments, address);
        return List.of(ports.udp().destinationPort(group.getPort()).build(), fragments.build());
    }

    private static long groupMac(IpAddress group) {
        return group.isIpv4() ? EthernetHeader.multicastOfIpv4(group.ipv4())
                : EthernetHeader.multicastOfIpv6(group.low());
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
        if (broadcast && !config.isBroadcast()) {
            throw new SocketException("Permission denied: " + destination
                    + " is a broadcast address; set ChannelOption.SO_BROADCAST to send to it");
        }
        IpAddress source = sourceFor(from.local(), target, sourceOrNull);
        DatagramPath.Kind kind = DatagramPath.Kind.DEVICE;
        long mac = EthernetHeader.BROADCAST;
        if (target.isMulticast()) {
            mac = groupMac(target);
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
        return new DatagramPath(kind, generation, destination, source, from.port(), target, port, from.mac(), mac);
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
        InetAddress chosen = config.multicastSource(target.isIpv4());
        return chosen != null ? IpAddress.of(chosen)
                : target.isIpv4() ? IpAddress.LOOPBACK_IPV4 : IpAddress.LOOPBACK_IPV6;
    }
}
