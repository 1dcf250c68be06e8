package io.rdmaraw.net.socket;

import io.rdmaraw.ffi.Errno;
import io.rdmaraw.ffi.Libc;
import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.ffi.NativeSocket;
import io.rdmaraw.net.IcmpError;
import io.rdmaraw.net.IcmpErrorParser;
import io.rdmaraw.net.IpAddress;
import io.rdmaraw.wire.FrameParser;
import io.rdmaraw.wire.IcmpHeader;
import io.rdmaraw.wire.IpProtocol;
import io.rdmaraw.ffi.NetworkOrder;
import io.rdmaraw.wire.ParseCounters;
import io.rdmaraw.wire.ParseVerdict;
import io.rdmaraw.wire.ParsedFrame;

import java.io.IOException;
import java.util.function.Consumer;

/**
 * Receives ICMP and ICMPv6 errors of this host with raw sockets. The kernel has no socket for our flows to
 * which it could report them. For one thread, which waits on the two descriptors and calls {@link #poll}.
 */
public final class IcmpSocket implements AutoCloseable {
    private static final int SOL_RAW = 255;
    private static final int ICMP_FILTER = 1;
    private static final int SOL_ICMPV6 = 58;
    private static final int ICMPV6_FILTER = 1;
    private static final int ICMPV6_FILTER_BYTES = 32;
    private static final int BUFFER_BYTES = 4096;
    private static final int SOCKADDR_IN6_BYTES = 28;
    private static final int SOCKADDR_IN6_ADDR_OFFSET = 8;

    private final NativeSocket icmp;
    private final NativeSocket icmpv6;
    private final long buffer = Libc.allocateZeroed(BUFFER_BYTES);
    private final long sender = Libc.allocateZeroed(SOCKADDR_IN6_BYTES + Integer.BYTES);
    private final ParseCounters counters = new ParseCounters();
    private final FrameParser parser = new FrameParser(counters);
    private final ParsedFrame message = new ParsedFrame();
    private final IcmpErrorParser errors = new IcmpErrorParser(counters);

    /**
     * Opens the sockets in the network namespace of the calling thread.
     *
     * @throws IOException if they cannot be opened; raw sockets need CAP_NET_RAW
     */
    public IcmpSocket() throws IOException {
        icmp = NativeSocket.open(NativeSocket.AF_INET, NativeSocket.SOCK_RAW, IpProtocol.ICMP);
        try {
            icmpv6 = NativeSocket.open(NativeSocket.AF_INET6, NativeSocket.SOCK_RAW, IpProtocol.ICMPV6);
        } catch (IOException e) {
            icmp.close();
            throw e;
        }
        // Set bits are the message types that the socket blocks.
        NativeMemory.putInt(buffer, ~(1 << IcmpHeader.UNREACHABLE | 1 << IcmpHeader.TIME_EXCEEDED
                | 1 << IcmpHeader.PARAMETER_PROBLEM));
        icmp.setOption(SOL_RAW, ICMP_FILTER, buffer, Integer.BYTES);
        NativeMemory.fill(buffer, ICMPV6_FILTER_BYTES, (byte) 0xff);
        NativeMemory.putInt(buffer, ~(1 << IcmpHeader.V6_UNREACHABLE | 1 << IcmpHeader.V6_PACKET_TOO_BIG
                | 1 << IcmpHeader.V6_TIME_EXCEEDED | 1 << IcmpHeader.V6_PARAMETER_PROBLEM));
        icmpv6.setOption(SOL_ICMPV6, ICMPV6_FILTER, buffer, ICMPV6_FILTER_BYTES);
    }

    /** Returns the descriptor that is readable when ICMP errors are pending. */
    public int fd() {
        return icmp.fd();
    }

    /** Returns the descriptor that is readable when ICMPv6 errors are pending. */
    public int fdv6() {
        return icmpv6.fd();
    }

    /** Passes pending errors to a listener and returns their number. Does not block. */
    public int poll(Consumer<IcmpError> listener) throws IOException {
        int count = 0;
        int received;
        while ((received = receive(icmp)) >= 0) {
            count += report(readIpv4(received), listener);
        }
        while ((received = receive(icmpv6)) >= 0) {
            count += report(readIpv6(received), listener);
        }
        return count;
    }

    /** Returns the number of bytes received, or a negative number if nothing is pending. */
    private int receive(NativeSocket socket) throws IOException {
        NativeMemory.putInt(sender + SOCKADDR_IN6_BYTES, SOCKADDR_IN6_BYTES);
        int received = socket.receive(buffer, BUFFER_BYTES, sender, sender + SOCKADDR_IN6_BYTES);
        if (received < 0 && received != -Errno.EAGAIN && received != -Errno.EINTR) {
            throw new IOException("a raw ICMP socket failed: " + Errno.describe(-received));
        }
        return Math.min(received, BUFFER_BYTES);
    }

    private static int report(IcmpError errorOrNull, Consumer<IcmpError> listener) {
        if (errorOrNull == null) {
            return 0;
        }
        listener.accept(errorOrNull);
        return 1;
    }

    /** A raw IPv4 socket delivers the IP header, too, and the kernel has not verified the ICMP checksum. */
    private IcmpError readIpv4(int lengthBytes) {
        return parser.parseIp(buffer, lengthBytes, false, message) == ParseVerdict.ICMP ? errors.read(message) : null;
    }

    /** A raw IPv6 socket delivers only the ICMPv6 message, with a verified checksum (RFC 3542 section 3.1). */
    private IcmpError readIpv6(int lengthBytes) {
        return errors.readIcmpv6(buffer, lengthBytes,
                new IpAddress(NetworkOrder.getLong(sender + SOCKADDR_IN6_ADDR_OFFSET),
                        NetworkOrder.getLong(sender + SOCKADDR_IN6_ADDR_OFFSET + Long.BYTES)));
    }

    @Override
    public void close() {
        icmp.close();
        icmpv6.close();
        Libc.free(buffer);
        Libc.free(sender);
    }
}
