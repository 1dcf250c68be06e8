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
 * What the networks of all kinds of devices do in the same way for a datagram channel: they keep its port, and decide
 * which destinations it may send to and from which address. How a host is reached is for the subclass.
 */
public abstract class IpDatagramNetwork implements DatagramNetwork {
    private final String deviceName;
    private final boolean ipv4Only;
    private final Options options;
    private InetSocketAddress boundAddress;
    private IpAddress boundLocal;
    private volatile BoundPort bound;

    /** @param ipv4Only whether the channel is for IPv4 alone */
    protected IpDatagramNetwork(String deviceName, boolean ipv4Only, Options options) {
        this.deviceName = deviceName;
        this.ipv4Only = ipv4Only;
        this.options = options;
    }

    /** Takes a port. */
    protected abstract BoundPort takePort(InetSocketAddress wanted, PortSharing sharing) throws IOException;

    /** Connects the port to a peer, and chooses the local address if the port is bound to a wildcard. */
    protected abstract BoundPort connectPort(BoundPort port, InetSocketAddress remote) throws IOException;

    /** Disconnects the port from its peer; its local address is {@link #boundLocal} again. */
    protected abstract BoundPort disconnectPort(BoundPort port) throws IOException;

    /** Tells whether an address means all hosts of a link. */
    protected abstract boolean isBroadcast(IpAddress target);

    /** Returns the address that datagrams to groups and broadcasts come from if the user has chosen none. */
    protected abstract IpAddress groupSource(IpAddress target) throws SocketException;

    /** Returns the MAC address that frames come from. */
    protected abstract long sourceMac() throws SocketException;

    /** Returns the longest IP packet to a group. */
    protected abstract int groupMtuBytes() throws SocketException;

    /**
     * Finds the path to a host.
     *
     * @param generation of the path
     * @param source chosen by the user, else a wildcard
     */
    protected abstract DatagramPath toHost(long generation, InetSocketAddress destination, IpAddress target,
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

    /** Returns the port as it is bound or connected now; null before {@link #bind}. */
    protected final BoundPort bound() {
        return bound;
    }

    /** Returns the address that the user has bound the port to, in the channel's IP version. */
    protected final IpAddress boundLocal() {
        return boundLocal;
    }

    /** Returns the address to bind to, in the channel's IP version. */
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
        BoundPort taken = takePort(wanted, options.portSharing());
        boundAddress = new InetSocketAddress(wanted.getAddress(), taken.port());
        boundLocal = taken.local();
        bound = taken;
        return boundAddress;
    }

    @Override
    public final InetSocketAddress connect(InetSocketAddress remote) throws IOException {
        bound = connectPort(bound, remote);
        // What the user bound to keeps its name and its scope.
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
        // Read first: a path that was found in a later state is only looked up again sooner than necessary.
        long generation = generation();
        IpAddress target = targetOf(destination.getAddress());
        IpAddress source = sourceOrNull == null ? bound.local() : IpAddress.of(sourceOrNull.getAddress());
        if (target.isMulticast()) {
            return toGroup(generation, destination, target, source, FlowMatches.groupMac(target));
        }
        if (!isBroadcast(target)) {
            return toHost(generation, destination, target, source);
        }
        if (!options.isBroadcast()) {
            throw new SocketException("Permission denied: " + destination
                    + " is a broadcast address; set ChannelOption.SO_BROADCAST to send to it");
        }
        return toGroup(generation, destination, target, source, EthernetHeader.BROADCAST);
    }

    /** Returns the address to send to. */
    protected IpAddress targetOf(InetAddress address) throws SocketException {
        IpAddress target = IpAddress.of(address);
        if (ipv4Only && !target.isIpv4()) {
            throw new SocketException("Address family not supported by protocol: an IPv4 channel cannot send to "
                    + target);
        }
        return target;
    }

    private DatagramPath toGroup(long generation, InetSocketAddress destination, IpAddress target, IpAddress wanted,
            long mac) throws SocketException {
        IpAddress source = wanted.isAny() ? sourceToGroup(target) : wanted;
        Refusals.requireSameVersion(source, target);
        return direct(DatagramPath.Kind.DEVICE, generation, destination, target, source, mac)
                .limitedTo(groupMtuBytes());
    }

    /** Returns the address that datagrams to a group or a broadcast come from. */
    protected final IpAddress sourceToGroup(IpAddress target) throws SocketException {
        InetAddress chosen = options.groupSourceOrNull(target.isIpv4());
        return chosen != null ? IpAddress.of(chosen) : groupSource(target);
    }

    /** Returns a path that needs no next hop. */
    protected final DatagramPath direct(DatagramPath.Kind kind, long generation, InetSocketAddress destination,
            IpAddress target, IpAddress source, long mac) throws SocketException {
        return DatagramPath.direct(kind, generation, destination, source, bound.port(), target, sourceMac(), mac);
    }
}
