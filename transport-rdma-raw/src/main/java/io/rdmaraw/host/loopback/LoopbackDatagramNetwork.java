package io.rdmaraw.host.loopback;

import io.rdmaraw.host.BoundPort;
import io.rdmaraw.host.DatagramPath;
import io.rdmaraw.host.FlowSpecs;
import io.rdmaraw.host.IpDatagramNetwork;
import io.rdmaraw.host.KernelSocket;
import io.rdmaraw.host.SocketErrors;
import io.rdmaraw.net.IpAddress;
import io.rdmaraw.net.PortSharing;
import io.rdmaraw.verbs.flow.FlowSpec;
import io.rdmaraw.verbs.flow.FlowSpecBuilder;
import io.rdmaraw.wire.EthernetHeader;
import io.rdmaraw.wire.IpProtocol;

import java.io.IOException;
import java.net.BindException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketException;
import java.util.ArrayList;
import java.util.List;

/** The network of one datagram channel on a loopback device. Frames never leave its {@link LoopbackHost}. */
public final class LoopbackDatagramNetwork extends IpDatagramNetwork {
    private final LoopbackHost host;
    private final KernelSocket kernelSocket;

    /**
     * @param ipv4Only whether the channel supports IPv4 only
     * @param kernelSocket the kernel socket of the port, used if the device's host is also the kernel's
     */
    public LoopbackDatagramNetwork(String deviceName, boolean ipv4Only, Options options, KernelSocket kernelSocket) {
        super(deviceName, ipv4Only, options);
        this.kernelSocket = kernelSocket;
        host = LoopbackHost.of(deviceName);
    }

    private boolean usesKernel() {
        return host.isKernelHost() && options().isKernelSocket();
    }

    @Override
    protected BoundPort bindPort(InetSocketAddress wanted, PortSharing sharing) throws IOException {
        IpAddress address = localOf(wanted);
        int port = usesKernel() ? kernelSocket.bind(wanted, sharing, 0, options().kernelOptions()) : wanted.getPort();
        try {
            return host.ports().bind(IpProtocol.UDP, LoopbackHost.newMac(), address, !isIpv4Only(), port, sharing,
                    null);
        } catch (BindException e) {
            kernelSocket.close();
            throw e;
        }
    }

    @Override
    protected BoundPort connectPort(BoundPort port, InetSocketAddress remote) throws IOException {
        IpAddress target = targetOf(remote.getAddress());
        IpAddress source = sourceFor(boundLocal(), target);
        if (usesKernel()) {
            kernelSocket.connect(remote);
        }
        return host.ports().connect(port, source, target, remote.getPort());
    }

    @Override
    protected BoundPort disconnectPort(BoundPort port) throws IOException {
        kernelSocket.disconnect();
        return host.ports().connect(port, boundLocal(), null, 0);
    }

    @Override
    public void unbind() {
        BoundPort bound = bound();
        if (bound != null) {
            host.ports().unbind(bound);
        }
        kernelSocket.close();
    }

    @Override
    public List<FlowSpec> flows() {
        BoundPort bound = bound();
        List<FlowSpec> flows = new ArrayList<>();
        if (bound.acceptsVersion(4)) {
            flows.add(unicast(bound, 4));
            flows.add(catchAll(bound).ipv4().build());
            if (bound.remoteOrNull() == null && bound.local().isAny()) {
                flows.add(FlowSpecs.udp(EthernetHeader.BROADCAST, bound.local(), bound.port(), null, 0, 4));
            }
        }
        if (bound.acceptsVersion(6)) {
            flows.add(unicast(bound, 6));
            flows.add(catchAll(bound).ipv6().build());
        }
        return flows;
    }

    @Override
    public List<FlowSpec> rssFlows() {
        // Each bound port has a separate MAC address. The sender selects one of the ports with the same number.
        return List.of();
    }

    @Override
    public List<FlowSpec> coarseFlows() {
        return List.of(catchAll(bound()).build());
    }

    @Override
    public boolean hasFallbackReceiver() {
        return false;
    }

    private static FlowSpec unicast(BoundPort bound, int ipVersion) {
        return FlowSpecs.udp(bound.id(), bound.local(), bound.port(), bound.remoteOrNull(), bound.remotePort(),
                ipVersion);
    }

    private static FlowSpecBuilder catchAll(BoundPort bound) {
        return FlowSpecs.toMac(bound.id(), FlowSpecs.CATCH_ALL_PRIORITY).allowHostTraffic();
    }

    @Override
    public List<FlowSpec> groupFlows(InetSocketAddress group) {
        IpAddress address = IpAddress.of(group.getAddress());
        return List.of(FlowSpecs.group(address).udp().destinationPort(group.getPort()).build(),
                FlowSpecs.groupFragments(address));
    }

    @Override
    public boolean isWithinHost() {
        return true;
    }

    @Override
    public long generation() {
        return host.ports().generation();
    }

    @Override
    protected boolean isBroadcast(IpAddress target) {
        return target.equals(IpAddress.BROADCAST);
    }

    @Override
    protected DatagramPath pathToHost(long generation, InetSocketAddress destination, IpAddress target,
            IpAddress wanted) throws IOException {
        IpAddress source = sourceFor(wanted, target);
        BoundPort to = host.ports().find(IpProtocol.UDP, source, bound().port(), target, destination.getPort());
        if (to == null && !usesKernel() && !host.isLocal(target)) {
            throw SocketErrors.notOnDevice(deviceName(), destination);
        }
        DatagramPath.Kind kind = to != null ? DatagramPath.Kind.DEVICE
                : usesKernel() ? DatagramPath.Kind.KERNEL : DatagramPath.Kind.PORT_UNREACHABLE;
        return direct(kind, generation, destination, target, source, to == null ? EthernetHeader.BROADCAST : to.id());
    }

    /** Converts a wildcard destination to the loopback address, as on Linux. */
    @Override
    protected IpAddress targetOf(InetAddress address) throws SocketException {
        IpAddress target = IpAddress.of(address);
        return target.isAny() ? defaultGroupSource(target) : super.targetOf(address);
    }

    private IpAddress sourceFor(IpAddress wanted, IpAddress target) throws SocketException {
        boolean isToGroup = target.isMulticast() || isBroadcast(target);
        IpAddress source = !wanted.isAny() ? wanted : isToGroup ? effectiveGroupSource(target) : host.sourceFor(target);
        SocketErrors.requireSameVersion(source, target);
        return source;
    }

    @Override
    protected IpAddress defaultGroupSource(IpAddress target) {
        return target.isIpv4() ? IpAddress.LOOPBACK_IPV4 : IpAddress.LOOPBACK_IPV6;
    }

    @Override
    protected long sourceMac() {
        return bound().id();
    }

    @Override
    protected int groupMtuBytes() {
        return Integer.MAX_VALUE;
    }
}
