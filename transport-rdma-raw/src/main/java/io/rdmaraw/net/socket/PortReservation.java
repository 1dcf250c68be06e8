package io.rdmaraw.net.socket;

import io.rdmaraw.ffi.Errno;
import io.rdmaraw.ffi.Libc;
import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.ffi.NativeSocket;
import io.rdmaraw.net.IpAddress;
import io.rdmaraw.wire.IpProtocol;

import java.io.IOException;
import java.net.BindException;

/**
 * A kernel socket that reserves a port which the device serves, so that the kernel does not assign it to
 * another program. A TCP reservation listens with a filter that drops all packets: segments that reach the
 * kernel, such as reassembled fragments, then find a socket and are not answered with a reset.
 */
public final class PortReservation implements AutoCloseable {
    private static final int IPPROTO_IPV6 = 41;
    private static final int IPV6_V6ONLY = 26;

    private final NativeSocket socket;
    private final int port;

    private PortReservation(NativeSocket socket, int port) {
        this.socket = socket;
        this.port = port;
    }

    /**
     * Reserves a port in the network namespace of the calling thread.
     *
     * @param protocol  {@link IpProtocol#TCP} or {@link IpProtocol#UDP}
     * @param address   the address, or a wildcard
     * @param dualStack whether {@code ::} also reserves the port for IPv4
     * @param port      the port, or 0 to let the kernel choose
     * @param scope     link index for a link-local IPv6 address, otherwise 0
     * @throws BindException if the port is in use or the address does not belong to this host
     */
    public static PortReservation reserve(int protocol, IpAddress address, boolean dualStack, int port, int scope)
            throws IOException {
        int type = protocol == IpProtocol.TCP ? NativeSocket.SOCK_STREAM : NativeSocket.SOCK_DGRAM;
        int family = address.isIpv4() ? NativeSocket.AF_INET : NativeSocket.AF_INET6;
        NativeSocket socket = NativeSocket.open(family, type, protocol);
        long sockaddr = Libc.allocateZeroed(Sockaddr.SIZE_BYTES + Integer.BYTES);
        try {
            NativeMemory.putInt(sockaddr, dualStack ? 0 : 1);
            if (!address.isIpv4()) {
                socket.setOption(IPPROTO_IPV6, IPV6_V6ONLY, sockaddr, Integer.BYTES);
            }
            int lengthBytes = Sockaddr.write(sockaddr, family, address, port, scope);
            int errno = socket.bind(sockaddr, lengthBytes);
            if (errno != 0) {
                throw new BindException(address + " port " + port + " could not be reserved: " + Errno.describe(errno));
            }
            if (protocol == IpProtocol.TCP) {
                dropAllSegments(socket);
            }
            NativeMemory.putInt(sockaddr + Sockaddr.SIZE_BYTES, Sockaddr.SIZE_BYTES);
            socket.getsockname(sockaddr, sockaddr + Sockaddr.SIZE_BYTES);
            return new PortReservation(socket, Sockaddr.port(sockaddr));
        } catch (IOException e) {
            socket.close();
            throw e;
        } finally {
            Libc.free(sockaddr);
        }
    }

    private static void dropAllSegments(NativeSocket socket) throws IOException {
        try {
            SocketFilter.refuseAll().attachToTcp(socket.fd());
        } catch (IOException e) {
            throw reservationFailed(e.getMessage());
        }
        int errno = socket.listen(0);
        if (errno != 0) {
            throw reservationFailed(Errno.describe(errno));
        }
    }

    private static BindException reservationFailed(String reason) {
        return new BindException("cannot prevent the kernel from answering on a reserved port: " + reason);
    }

    /** Returns the reserved port. */
    public int port() {
        return port;
    }

    /** Releases the port. */
    @Override
    public void close() {
        socket.close();
    }
}
