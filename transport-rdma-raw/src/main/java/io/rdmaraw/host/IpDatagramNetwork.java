package io.rdmaraw.host;

import io.rdmaraw.net.IpAddress;
import io.rdmaraw.net.PortSharing;
import io.rdmaraw.wire.EthernetHeader;

import java.io.IOException;
import java.net.BindException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketException;

/**
 * Base class of the datagram networks of all devices. It keeps the port, checks destinations and selects source
 * addresses. Subclasses find the path to a host.
 */
public abstract class IpDatagramNetwork implements DatagramNetwork {
    private final String deviceName;
    private final boolean ipv4Only;
    private final Options options;
    private InetSocketAddress boundAddress;
    private IpAddress boundLocal;
    private volatile BoundPort bound;

    /** @param ipv4Only whether the channel supports IPv4 only */
    protected IpDatagramNetwork(String deviceName, boolean ipv4Only, Options options) {
        this.deviceName = deviceName;
        this.ipv4Only = ipv4Only;
        this.options = options;
    }

    /** Binds a port. */
    protected abstract BoundPort bindPort(InetSocketAddress wanted, PortSharing sharing) throws IOException;

    /** Connects the port to a peer. Selects the local address if the port is bound to a wildcard. */
    protected abstract BoundPort connectPort(BoundPort port, InetSocketAddress remote) throws IOException;

    /** Disconnects the port from its peer. The local address becomes {@link #boundLocal} again. */
    protected abstract BoundPort disconnectPort(BoundPort port) throws IOException;

    /** Returns whether an address is a broadcast address of a link. */
    protected abstract boolean isBroadcast(IpAddress target);

    /** Returns the source address for groups and broadcasts if the user has set none. */
    protected abstract IpAddress defaultGroupSource(IpAddress target) throws SocketException;

    /** Returns the source MAC address of frames. */
    protected abstract long sourceMac() throws SocketException;

    /** Returns the maximum length of an IP packet to a group. */
    protected abstract int groupMtuBytes() throws SocketException;

    /**
     * Finds the path to a host.
     *
     * @param generation generation to store in the path
     * @param source the source address set by the user, or a wildcard
     */
    protected abstract DatagramPath pathToHost(long generation, InetSocketAddress destination, IpAddress target,
            IpAddress source) throws IOException;

    @Override
    public final String deviceName() {
        return deviceName;
    }

    protected final boolean isIpv4Only() {
        return ipv4Only;
    }

    protected final Options options() {
        return options;
    }

    /** Returns the port in its present state; null before {@link #bind}. */
    protected final BoundPort bound() {
        return bound;
    }

    /** Returns the local address set by {@link #bind}, converted to the channel's IP version. */
    protected final IpAddress boundLocal() {
        return boundLocal;
    }

    /** Converts the address to bind to the channel's IP version. */
    protected final IpAddress localOf(InetSocketAddress wanted) throws BindException {
        IpAddress address = IpAddress.of(wanted.getAddress());
        if (!ipv4Only || address.isIpv4()) {
            return address;
        }
        if (!address.isAny()) {
            throw new BindException("an IPv4 channel cannot be bound to " + wanted);
        }
        return IpAddress.ANY_IPV4;
    }

    @Override
    public final InetSocketAddress bind(InetSocketAddress wanted) throws IOException {
        BoundPort taken = bindPort(wanted, options.portSharing());
        boundAddress = new InetSocketAddress(wanted.getAddress(), taken.port());
        boundLocal = taken.local();
        bound = taken;
        return boundAddress;
    }

    @Override
    public final InetSocketAddress connect(InetSocketAddress remote) throws IOException {
        bound = connectPort(bound, remote);
        // If the address is unchanged, return the object passed to bind, which has a host name and a scope.
        return new InetSocketAddress(bound.local().equals(boundLocal) ? boundAddress.getAddress()
                : bound.local().toInetAddress(), bound.port());
    }

    @Override
    public final InetSocketAddress disconnect() throws IOException {
        bound = disconnectPort(bound);
        return boundAddress;
    }

    @Override
    public final DatagramPath resolve(InetSocketAddress destination, InetSocketAddress sourceOrNull)
            throws IOException {
        // Read first. If the network changes now, the path is only looked up again sooner than necessary.
        long generation = generation();
        if (destination.getPort() == 0) {
            throw new SocketException("Invalid argument: " + destination + " has port 0");
        }
        IpAddress target = targetOf(destination.getAddress());
        IpAddress source = sourceOrNull == null ? bound.local() : IpAddress.of(sourceOrNull.getAddress());
        if (target.isMulticast()) {
            return pathToGroup(generation, destination, target, source, FlowSpecs.groupMac(target));
        }
        if (!isBroadcast(target)) {
            return pathToHost(generation, destination, target, source);
        }
        if (!options.isBroadcast()) {
            throw new SocketException("Permission denied: " + destination
                    + " is a broadcast address; set ChannelOption.SO_BROADCAST to send to it");
        }
        return pathToBroadcast(generation, destination, target, source);
    }

    /** Finds the path to the broadcast address of a subnet. */
    protected DatagramPath pathToBroadcast(long generation, InetSocketAddress destination, IpAddress target,
            IpAddress source) throws IOException {
        return pathToGroup(generation, destination, target, source, EthernetHeader.BROADCAST);
    }

    /** Returns the destination address, or throws an exception if the channel does not support its IP version. */
    protected IpAddress targetOf(InetAddress address) throws SocketException {
        IpAddress target = IpAddress.of(address);
        if (ipv4Only && !target.isIpv4()) {
            throw new SocketException("Address family not supported by protocol: an IPv4 channel cannot send to "
                    + target);
        }
        return target;
    }

    /**
     * Finds the path to a group or to a broadcast address.
     *
     * @param wanted the source address set by the user, or a wildcard
     */
    protected DatagramPath pathToGroup(long generation, InetSocketAddress destination, IpAddress target,
            IpAddress wanted, long mac) throws IOException {
        IpAddress source = wanted.isAny() ? effectiveGroupSource(target) : wanted;
        SocketErrors.requireSameVersion(source, target);
        return direct(DatagramPath.Kind.DEVICE, generation, destination, target, source, mac)
                .limitedTo(groupMtuBytes());
    }

    /** Returns the source address for a group or a broadcast. */
    protected final IpAddress effectiveGroupSource(IpAddress target) throws SocketException {
        InetAddress chosen = options.groupSourceOrNull(target.isIpv4());
        return chosen != null ? IpAddress.of(chosen) : defaultGroupSource(target);
    }

    /** Returns a path that needs no next hop. */
    protected final DatagramPath direct(DatagramPath.Kind kind, long generation, InetSocketAddress destination,
            IpAddress target, IpAddress source, long mac) throws SocketException {
        return DatagramPath.direct(kind, generation, destination, source, bound.port(), target, sourceMac(), mac);
    }
}
