package io.rdmaraw.net.socket;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.rdmaraw.ffi.Errno;
import io.rdmaraw.ffi.Libc;
import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.ffi.NativeSocket;
import io.rdmaraw.wire.EtherType;
import io.rdmaraw.wire.EthernetHeader;
import io.rdmaraw.wire.InternetChecksum;
import io.rdmaraw.wire.IpProtocol;
import io.rdmaraw.wire.Ipv4Header;
import io.rdmaraw.wire.Ipv6Header;
import io.rdmaraw.ffi.NetworkOrder;
import io.rdmaraw.wire.TcpHeader;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.BitSet;
import java.util.function.Consumer;

/**
 * Receives TCP segments that reach the kernel on a link, for selected ports, with raw sockets. These are
 * segments that the kernel has reassembled from fragments, and segments after extension headers, which no flow
 * rule of a device matches. For one thread, which waits on the two descriptors and calls {@link #poll}.
 */
public final class SegmentSocket implements AutoCloseable {
    private static final int SO_BINDTODEVICE = 25;
    private static final int IPPROTO_IPV6 = 41;
    private static final int IPV6_RECVPKTINFO = 49;
    private static final int IPV6_PKTINFO = 50;
    /** {@code struct msghdr}, {@code struct iovec} and {@code struct cmsghdr} of bits/socket.h. */
    private static final int MSG_NAMELEN = 8;
    private static final int MSG_IOV = 16;
    private static final int MSG_IOVLEN = 24;
    private static final int MSG_CONTROL = 32;
    private static final int MSG_CONTROLLEN = 40;
    private static final int MSGHDR_BYTES = 56;
    private static final int IOVEC_BYTES = 16;
    private static final int CONTROL_BYTES = 128;
    private static final int CMSG_LEVEL = 8;
    private static final int CMSG_TYPE = 12;
    private static final int CMSG_DATA = 16;
    private static final int MAX_PACKET_BYTES = 0xFFFF + Ipv6Header.LENGTH_BYTES;
    private static final int HOP_LIMIT = 64;
    /** Maximum number of segments per poll and IP version, so that the thread can do its other work. */
    private static final int MAX_PER_POLL = 64;

    private final NativeSocket ipv4;
    private final NativeSocket ipv6;
    private final long message = Libc.allocateZeroed(MSGHDR_BYTES + IOVEC_BYTES + Sockaddr.SIZE_BYTES + Integer.BYTES
            + CONTROL_BYTES);
    private final long name = message + MSGHDR_BYTES + IOVEC_BYTES;
    private final long control = name + Sockaddr.SIZE_BYTES + Integer.BYTES;
    private final long packet = Libc.allocateZeroed(MAX_PACKET_BYTES);
    private int badChecksums;

    /**
     * Opens the sockets in the network namespace of the calling thread. They receive nothing until
     * {@link #select}.
     *
     * @throws IOException if they cannot be opened; raw sockets need CAP_NET_RAW
     */
    public SegmentSocket(String linkName) throws IOException {
        ipv4 = open(NativeSocket.AF_INET, linkName);
        NativeSocket second;
        try {
            second = open(NativeSocket.AF_INET6, linkName);
        } catch (IOException e) {
            ipv4.close();
            throw e;
        }
        ipv6 = second;
        NativeMemory.putInt(message, 1);
        ipv6.setOption(IPPROTO_IPV6, IPV6_RECVPKTINFO, message, Integer.BYTES);
        NativeMemory.putLong(message, name);
        NativeMemory.putLong(message + MSG_IOV, message + MSGHDR_BYTES);
        NativeMemory.putLong(message + MSG_IOVLEN, 1);
        NativeMemory.putLong(message + MSG_CONTROL, control);
    }

    private static NativeSocket open(int family, String linkName) throws IOException {
        NativeSocket socket = NativeSocket.open(family, NativeSocket.SOCK_RAW, IpProtocol.TCP);
        byte[] text = linkName.getBytes(StandardCharsets.US_ASCII);
        long value = Libc.allocateZeroed(text.length);
        try {
            NativeMemory.putBytes(value, text, 0, text.length);
            int error = SocketFilter.refuseAll().attach(socket.fd());
            if (error == 0) {
                error = socket.setOption(NativeSocket.SOL_SOCKET, SO_BINDTODEVICE, value, text.length);
            }
            if (error != 0) {
                socket.close();
                throw new IOException("a raw socket could not be bound to " + linkName + ": "
                        + Errno.describe(-error));
            }
            return socket;
        } finally {
            Libc.free(value);
        }
    }

    /** Returns the descriptor that is readable when IPv4 segments are pending. */
    public int fd() {
        return ipv4.fd();
    }

    /** Returns the descriptor that is readable when IPv6 segments are pending. */
    public int fdv6() {
        return ipv6.fd();
    }

    /** Selects the ports to receive segments for. Segments for neighbouring ports may also be received. */
    public void select(BitSet ports) {
        SocketFilter.segmentsTo(ports, true).attach(ipv4.fd());
        SocketFilter.segmentsTo(ports, false).attach(ipv6.fd());
    }

    /** Returns the number of segments dropped for a wrong checksum since the last call. */
    public int pollBadChecksums() {
        int taken = badChecksums;
        badChecksums = 0;
        return taken;
    }

    /**
     * Passes pending segments to a listener, with their references. Segments are delivered as frames with
     * verified checksums; of the Ethernet header only the EtherType is set. Does not block.
     */
    public void poll(Consumer<ByteBuf> listener) {
        int received;
        for (int i = 0; i < MAX_PER_POLL && (received = receive(ipv4, packet)) >= 0; i++) {
            readIpv4(received, listener);
        }
        for (int i = 0; i < MAX_PER_POLL && (received = receive(ipv6, packet + Ipv6Header.LENGTH_BYTES)) >= 0; i++) {
            readIpv6(received, listener);
        }
    }

    private int receive(NativeSocket socket, long target) {
        NativeMemory.putInt(message + MSG_NAMELEN, Sockaddr.SIZE_BYTES);
        NativeMemory.putLong(message + MSGHDR_BYTES, target);
        NativeMemory.putLong(message + MSGHDR_BYTES + Long.BYTES, packet + MAX_PACKET_BYTES - target);
        NativeMemory.putLong(message + MSG_CONTROLLEN, CONTROL_BYTES);
        return socket.receiveMessage(message);
    }

    /** A raw IPv4 socket also delivers the IP header, which is that of the reassembled packet. */
    private void readIpv4(int lengthBytes, Consumer<ByteBuf> listener) {
        int headerBytes = lengthBytes < Ipv4Header.MIN_LENGTH_BYTES ? lengthBytes
                : Ipv4Header.headerLengthBytes(packet);
        int segmentBytes = lengthBytes - headerBytes;
        if (segmentBytes >= TcpHeader.MIN_LENGTH_BYTES) {
            pass(lengthBytes, packet + headerBytes, segmentBytes, InternetChecksum.pseudoHeaderIpv4(packet,
                    IpProtocol.TCP, segmentBytes), EtherType.IPV4, listener);
        }
    }

    /** A raw IPv6 socket delivers only the data after the IPv6 headers (RFC 3542 section 3). */
    private void readIpv6(int segmentBytes, Consumer<ByteBuf> listener) {
        long destination = destinationFieldAddress();
        if (segmentBytes < TcpHeader.MIN_LENGTH_BYTES || destination == 0) {
            return;
        }
        Ipv6Header.writeFixed(packet, 0, 0, segmentBytes, IpProtocol.TCP, HOP_LIMIT);
        Ipv6Header.setSource(packet, Sockaddr.high(name), Sockaddr.low(name));
        Ipv6Header.setDestination(packet, NetworkOrder.getLong(destination),
                NetworkOrder.getLong(destination + Long.BYTES));
        pass(Ipv6Header.LENGTH_BYTES + segmentBytes, packet + Ipv6Header.LENGTH_BYTES, segmentBytes,
                InternetChecksum.pseudoHeaderIpv6(packet, IpProtocol.TCP, segmentBytes), EtherType.IPV6, listener);
    }

    /** Returns the address of the destination IP address of the last packet, or 0 if it is missing. */
    private long destinationFieldAddress() {
        long end = control + NativeMemory.getLong(message + MSG_CONTROLLEN);
        for (long at = control; at + CMSG_DATA <= end; at += NativeMemory.getLong(at) + 7 & ~7L) {
            if (NativeMemory.getInt(at + CMSG_LEVEL) == IPPROTO_IPV6
                    && NativeMemory.getInt(at + CMSG_TYPE) == IPV6_PKTINFO) {
                return at + CMSG_DATA;
            }
        }
        return 0;
    }

    private void pass(int packetBytes, long segment, int segmentBytes, long pseudoHeader, int etherType,
                      Consumer<ByteBuf> listener) {
        if (!isChecksumValid(segment, segmentBytes, pseudoHeader)) {
            badChecksums++;
            return;
        }
        ByteBuf frame = ByteBufAllocator.DEFAULT.directBuffer(EthernetHeader.LENGTH_BYTES + packetBytes);
        frame.writeZero(EthernetHeader.LENGTH_BYTES - Short.BYTES).writeShort(etherType);
        frame.writeBytes(NativeMemory.segment(packet, packetBytes).asByteBuffer());
        listener.accept(frame);
    }

    /**
     * Verifies the checksum, since the kernel delivers segments to raw sockets before it does. The checksum
     * field contains only the sum of the pseudo header in two cases: the kernel has verified the checksum
     * during reassembly, or a local sender has left it to the hardware.
     */
    private static boolean isChecksumValid(long segment, int segmentBytes, long pseudoHeader) {
        return InternetChecksum.isValid(InternetChecksum.sum(segment, segmentBytes, pseudoHeader))
                || TcpHeader.checksum(segment) == (~InternetChecksum.finish(pseudoHeader) & 0xFFFF);
    }

    @Override
    public void close() {
        ipv4.close();
        ipv6.close();
        Libc.free(message);
        Libc.free(packet);
    }
}
