package io.rdmaraw.net.socket;

import io.rdmaraw.ffi.Errno;
import io.rdmaraw.ffi.Libc;
import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.ffi.NativeSocket;
import io.rdmaraw.net.IpAddress;
import io.rdmaraw.net.PortSharing;
import io.rdmaraw.wire.IpProtocol;

import java.io.IOException;
import java.net.BindException;
import java.net.NoRouteToHostException;
import java.net.PortUnreachableException;
import java.net.SocketException;

/**
 * A UDP socket of the kernel. Non-blocking; buffers are in native memory. Not thread-safe. {@link #close()} may
 * be called on another thread, but not concurrently with other methods.
 */
public final class KernelUdpSocket implements AutoCloseable {
    private static final int AF_UNSPEC = 0;
    private static final int IPPROTO_IP = 0;
    private static final int IPPROTO_IPV6 = 41;
    private static final int IPV6_V6ONLY = 26;
    private static final int IP_RECVERR = 11;
    private static final int IPV6_RECVERR = 25;
    private static final int IP_MULTICAST_ALL = 49;
    private static final int IPV6_MULTICAST_ALL = 29;
    private static final int SO_REUSEPORT = 15;
    private static final int SO_BROADCAST = 6;
    /** {@code MCAST_JOIN_GROUP} and so on of linux/in.h, the same for IPv4 and IPv6 (RFC 3678 section 5.1). */
    private static final int MCAST_JOIN_GROUP = 42;
    private static final int MCAST_LEAVE_GROUP = 45;
    private static final int MCAST_JOIN_SOURCE_GROUP = 46;
    private static final int MCAST_LEAVE_SOURCE_GROUP = 47;
    private static final int MCAST_BLOCK_SOURCE = 43;
    /**
     * {@code struct group_req}: interface, padding, one {@code sockaddr_storage}; {@code group_source_req} has
     * two.
     */
    private static final int GROUP_OFFSET = 8;
    private static final int SOCKADDR_STORAGE_BYTES = 128;
    private static final int SCRATCH_BYTES = GROUP_OFFSET + 2 * SOCKADDR_STORAGE_BYTES;

    private final NativeSocket socket;
    private final int family;
    /** A socket address followed by its length; also used for option values. */
    private final long scratch = Libc.allocateZeroed(SCRATCH_BYTES);
    private final SocketErrorQueue errors;
    private IpAddress boundAddress;
    private int boundScope;
    private int boundPort;
    private boolean closed;

    private KernelUdpSocket(NativeSocket socket, int family) {
        this.socket = socket;
        this.family = family;
        errors = new SocketErrorQueue(socket);
    }

    /**
     * Opens a socket in the network namespace of the calling thread.
     *
     * @param ipv4Only true for IPv4 only, false for IPv4 and IPv6
     */
    public static KernelUdpSocket open(boolean ipv4Only) throws IOException {
        int family = ipv4Only ? NativeSocket.AF_INET : NativeSocket.AF_INET6;
        KernelUdpSocket opened = new KernelUdpSocket(
                NativeSocket.open(family, NativeSocket.SOCK_DGRAM, IpProtocol.UDP), family);
        // Puts ICMP errors into the error queue, for unconnected sockets, too.
        opened.setOption(IPPROTO_IP, IP_RECVERR, 1);
        // Receive only for the groups that this socket has joined, not for those of other sockets.
        opened.setOption(IPPROTO_IP, IP_MULTICAST_ALL, 0);
        if (!ipv4Only) {
            opened.setOption(IPPROTO_IPV6, IPV6_V6ONLY, 0);
            opened.setOption(IPPROTO_IPV6, IPV6_RECVERR, 1);
            opened.setOption(IPPROTO_IPV6, IPV6_MULTICAST_ALL, 0);
        }
        opened.setOption(NativeSocket.SOL_SOCKET, SO_BROADCAST, 1);
        return opened;
    }

    private int setOption(int level, int option, int value) {
        NativeMemory.putInt(scratch, value);
        return socket.setOption(level, option, scratch, Integer.BYTES);
    }

    /** Returns the descriptor to wait on. */
    public int fd() {
        return socket.fd();
    }

    /**
     * Sets the mark of sent packets, for policy routing and firewalls ({@code SO_MARK}).
     *
     * @throws SocketException if the process lacks the capability
     */
    public void mark(int value) throws SocketException {
        SocketMark.set(socket.fd(), value);
    }

    /**
     * Sets options by number.
     *
     * @throws SocketException if the kernel rejects one
     */
    public void options(NumberedOptions options) throws SocketException {
        options.applyTo(socket.fd());
    }

    /**
     * Binds the socket.
     *
     * @param address an address of this host, or a wildcard
     * @param scope   link index for a link-local IPv6 address, otherwise 0; the kernel rejects such an address
     *                without it
     * @param port    the port, or 0 to let the kernel choose
     * @return the bound port
     * @throws BindException if the port is in use or the address does not belong to this host
     */
    public int bind(IpAddress address, int scope, int port, PortSharing sharing) throws IOException {
        if (sharing.reuseAddress()) {
            setOption(NativeSocket.SOL_SOCKET, NativeSocket.SO_REUSEADDR, 1);
        }
        if (sharing.reusePort()) {
            setOption(NativeSocket.SOL_SOCKET, SO_REUSEPORT, 1);
        }
        if (!address.isAny()) {
            checkVersion(address);
        }
        boundAddress = !address.isAny() ? address
                : family == NativeSocket.AF_INET6 ? IpAddress.ANY_IPV6 : IpAddress.ANY_IPV4;
        boundScope = scope;
        bindNow(port);
        boundPort = localPort();
        return boundPort;
    }

    private void checkVersion(IpAddress address) throws SocketException {
        if (family == NativeSocket.AF_INET && !address.isIpv4()) {
            throw new SocketException("Address family not supported by protocol: an IPv4 socket cannot use the"
                    + " address " + address);
        }
    }

    private void bindNow(int port) throws BindException {
        int errno = socket.bind(scratch, Sockaddr.write(scratch, family, boundAddress, port, boundScope));
        if (errno == Errno.EADDRINUSE) {
            throw new BindException("Address already in use: " + boundAddress + " port " + port);
        }
        if (errno == Errno.EADDRNOTAVAIL) {
            throw new BindException("Cannot assign requested address: " + boundAddress
                    + " is not an address of this host");
        }
        if (errno == Errno.EACCES) {
            throw new BindException("Permission denied: " + boundAddress + " port " + port + "; ports below"
                    + " net.ipv4.ip_unprivileged_port_start (1024) require CAP_NET_BIND_SERVICE");
        }
        if (errno != 0) {
            throw new BindException(boundAddress + " port " + port + " cannot be bound: " + Errno.describe(errno));
        }
    }

    private int localPort() throws SocketException {
        readLocal();
        return Sockaddr.port(scratch);
    }

    private void readLocal() throws SocketException {
        NativeMemory.putInt(scratch + Sockaddr.SIZE_BYTES, Sockaddr.SIZE_BYTES);
        int errno = socket.getsockname(scratch, scratch + Sockaddr.SIZE_BYTES);
        if (errno != 0) {
            throw new SocketException("getsockname failed: " + Errno.describe(errno));
        }
    }

    /**
     * Connects the socket to a peer.
     *
     * @param scope link index for a link-local IPv6 address, otherwise 0
     * @return the local address chosen by the kernel
     */
    public IpAddress connect(IpAddress address, int port, int scope) throws IOException {
        checkVersion(address);
        int errno = socket.connect(scratch, Sockaddr.write(scratch, family, address, port, scope));
        if (errno != 0) {
            throw failure(errno, address, port);
        }
        readLocal();
        return Sockaddr.address(scratch);
    }

    /** Disconnects the socket from its peer. */
    public void disconnect() throws IOException {
        NativeMemory.fill(scratch, Sockaddr.SIZE_BYTES, (byte) 0);
        NativeMemory.putShort(scratch, (short) AF_UNSPEC);
        int errno = socket.connect(scratch, Sockaddr.SIZE_BYTES);
        if (errno != 0) {
            throw new SocketException("a socket cannot be disconnected: " + Errno.describe(errno));
        }
        // On disconnect, Linux releases a port that it has chosen itself.
        if (localPort() != boundPort) {
            bindNow(boundPort);
        }
    }

    /**
     * Sends a datagram.
     *
     * @param addressOrNull destination, or null if the socket is connected
     * @return 0 or the error number; EAGAIN if the send buffer is full
     */
    public int send(long buffer, int lengthBytes, IpAddress addressOrNull, int port, int scope) {
        int sockaddrBytes = addressOrNull == null ? 0 : Sockaddr.write(scratch, family, addressOrNull, port, scope);
        int sent = socket.send(buffer, lengthBytes, addressOrNull == null ? 0 : scratch, sockaddrBytes);
        return sent < 0 ? -sent : 0;
    }

    /**
     * Receives a datagram. {@link #senderHigh()} and the related methods return its source.
     *
     * @return the length of the datagram, or the negated error number; -EAGAIN if none is pending
     */
    public int receive(long buffer, int capacityBytes) {
        NativeMemory.putInt(scratch + Sockaddr.SIZE_BYTES, Sockaddr.SIZE_BYTES);
        return socket.receive(buffer, capacityBytes, scratch, scratch + Sockaddr.SIZE_BYTES);
    }

    /** Returns the upper half of the source address of the last datagram. */
    public long senderHigh() {
        return Sockaddr.high(scratch);
    }

    /** Returns the lower half of the source address of the last datagram. */
    public long senderLow() {
        return Sockaddr.low(scratch);
    }

    /** Returns the link index of the source of the last datagram if it is link-local, otherwise 0. */
    public int senderScope() {
        return Sockaddr.scope(scratch);
    }

    /** Returns the source port of the last datagram. */
    public int senderPort() {
        return Sockaddr.port(scratch);
    }

    /** Returns the oldest pending error, reported by ICMP or by the kernel, or null if there is none. */
    public SocketErrorQueue.Entry pollError() {
        return errors.poll();
    }

    /**
     * Joins or leaves a multicast group, which routers and switches learn through IGMP or MLD.
     *
     * @param linkIndex    index of the link
     * @param sourceOrNull one source, or null for all
     * @throws SocketException if the kernel refuses
     */
    public void changeMembership(boolean join, IpAddress group, int linkIndex, IpAddress sourceOrNull)
            throws SocketException {
        int option = sourceOrNull == null ? join ? MCAST_JOIN_GROUP : MCAST_LEAVE_GROUP
                : join ? MCAST_JOIN_SOURCE_GROUP : MCAST_LEAVE_SOURCE_GROUP;
        changeGroup(option, group, linkIndex, sourceOrNull);
    }

    /** Blocks a source of a group that was joined for all sources. */
    public void blockSource(IpAddress group, int linkIndex, IpAddress source) throws SocketException {
        changeGroup(MCAST_BLOCK_SOURCE, group, linkIndex, source);
    }

    private void changeGroup(int option, IpAddress group, int linkIndex, IpAddress sourceOrNull)
            throws SocketException {
        int groupFamily = group.isIpv4() ? NativeSocket.AF_INET : NativeSocket.AF_INET6;
        NativeMemory.fill(scratch, SCRATCH_BYTES, (byte) 0);
        NativeMemory.putInt(scratch, linkIndex);
        Sockaddr.write(scratch + GROUP_OFFSET, groupFamily, group, 0, 0);
        int lengthBytes = GROUP_OFFSET + SOCKADDR_STORAGE_BYTES;
        if (sourceOrNull != null) {
            Sockaddr.write(scratch + lengthBytes, groupFamily, sourceOrNull, 0, 0);
            lengthBytes += SOCKADDR_STORAGE_BYTES;
        }
        int result = socket.setOption(group.isIpv4() ? IPPROTO_IP : IPPROTO_IPV6, option, scratch, lengthBytes);
        if (result < 0) {
            throw new SocketException("the membership of group " + group + " cannot be changed: "
                    + Errno.describe(-result));
        }
    }

    /** Converts an error number to the exception that the JDK would throw. */
    public static IOException failure(int errno, IpAddress peer, int port) {
        String text = peer + " port " + port + ": " + Errno.describe(errno);
        return switch (errno) {
            case Errno.ECONNREFUSED -> new PortUnreachableException(text);
            case Errno.EHOSTUNREACH, Errno.ENETUNREACH -> new NoRouteToHostException(text);
            default -> new SocketException(text);
        };
    }

    /** Closes the socket and releases its port. */
    @Override
    public void close() {
        if (!closed) {
            closed = true;
            socket.close();
            errors.close();
            Libc.free(scratch);
        }
    }
}
