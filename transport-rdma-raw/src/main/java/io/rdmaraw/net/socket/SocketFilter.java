package io.rdmaraw.net.socket;

import io.rdmaraw.ffi.Errno;
import io.rdmaraw.ffi.Libc;
import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.ffi.NativeSocket;
import io.rdmaraw.net.BrokerConnection;
import io.rdmaraw.net.IpAddress;

import java.io.IOException;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;

/**
 * A classic BPF program for a socket ({@code SO_ATTACH_FILTER}, linux/filter.h). Packets that it refuses do not
 * reach the socket. A TCP socket neither answers nor resets them.
 *
 * <p>Some kernels (seen with Linux 6.18) require {@code CAP_NET_ADMIN} for a filter on a TCP socket and
 * otherwise return EPERM; others require no capability. A broker can attach the filter instead.
 */
public final class SocketFilter {
    private static final int SO_ATTACH_FILTER = 26;
    /** {@code struct sock_filter}: code, jumps, operand. {@code struct sock_fprog}: length, then a pointer. */
    private static final int INSTRUCTION_BYTES = 8;
    private static final int PROGRAM_BYTES = 16;
    private static final int PROGRAM_POINTER_OFFSET = 8;

    private static final int LOAD_WORD = 0x20;
    private static final int LOAD_BYTE = 0x30;
    private static final int LOAD_HALF = 0x28;
    private static final int LOAD_HALF_INDIRECT = 0x48;
    private static final int LOAD_HEADER_LENGTH = 0xb1;
    private static final int JUMP = 0x05;
    private static final int JUMP_IF_AT_LEAST = 0x35;
    private static final int JUMP_IF_EQUAL = 0x15;
    private static final int AND = 0x54;
    private static final int RETURN = 0x06;
    /** {@code SKF_AD_OFF}, and the ancillary data with the receiving interface. */
    private static final int ANCILLARY = -0x1000;
    private static final int INTERFACE_INDEX = ANCILLARY + 8;
    /** {@code LOOPBACK_IFINDEX}, the same in every network namespace. */
    private static final int LOOPBACK_INDEX = 1;
    /**
     * Ancillary data with the link-layer destination of the frame, and the value for "this host"
     * (linux/if_packet.h).
     */
    private static final int PACKET_TYPE = ANCILLARY + 4;
    private static final int PACKET_HOST = 0;
    private static final int NETWORK_HEADER = -0x10_0000;
    private static final int VERSION_MASK = 0xf0;
    private static final int VERSION_4 = 0x40;
    private static final int DESTINATION_OFFSET_IPV4 = 16;
    private static final int DESTINATION_OFFSET_IPV6 = 24;
    private static final int WORDS_IPV6 = 4;
    private static final int DESTINATION_PORT_OFFSET = 2;
    /** Maximum number of port ranges. Each needs three instructions, and a program has at most 4096. */
    private static final int MAX_RANGES = 256;
    private static final int REFUSE = 0;
    /** Explains EPERM, seen with Linux 6.18. Earlier kernels let every process attach a filter to a TCP socket. */
    private static final String EPERM_EXPLANATION = "; this kernel wants CAP_NET_ADMIN for a filter on a TCP"
            + " socket, or a broker that puts it there (SOFTVERBS_BROKER)";
    private static final int ACCEPT = -1;

    private final List<Long> instructions = new ArrayList<>();

    private SocketFilter() {
    }

    /** Returns a filter that refuses all packets. */
    public static SocketFilter refuseAll() {
        SocketFilter filter = new SocketFilter();
        filter.add(RETURN, 0, 0, REFUSE);
        return filter;
    }

    /** Returns a filter that refuses all packets received on a link. */
    public static SocketFilter refuse(int linkIndex) {
        SocketFilter filter = new SocketFilter();
        filter.add(LOAD_WORD, 0, 0, INTERFACE_INDEX);
        filter.add(JUMP_IF_EQUAL, 1, 0, linkIndex);
        filter.add(RETURN, 0, 0, ACCEPT);
        filter.add(RETURN, 0, 0, REFUSE);
        return filter;
    }

    /** Returns a filter that refuses packets received on a link for one of the given addresses. */
    public static SocketFilter refuse(int linkIndex, List<IpAddress> destinations) {
        SocketFilter filter = new SocketFilter();
        SocketFilter ipv4 = new SocketFilter();
        SocketFilter ipv6 = new SocketFilter();
        for (IpAddress address : destinations) {
            if (address.isIpv4()) {
                ipv4.refuseIpv4(address);
            } else {
                ipv6.refuseIpv6(address);
            }
        }
        ipv4.add(RETURN, 0, 0, ACCEPT);
        filter.add(LOAD_WORD, 0, 0, INTERFACE_INDEX);
        filter.add(JUMP_IF_EQUAL, 1, 0, linkIndex);
        filter.add(RETURN, 0, 0, ACCEPT);
        filter.add(LOAD_BYTE, 0, 0, NETWORK_HEADER);
        filter.add(AND, 0, 0, VERSION_MASK);
        filter.add(JUMP_IF_EQUAL, 1, 0, VERSION_4);
        filter.add(JUMP, 0, 0, ipv4.instructions.size());
        filter.instructions.addAll(ipv4.instructions);
        filter.instructions.addAll(ipv6.instructions);
        filter.add(RETURN, 0, 0, ACCEPT);
        return filter;
    }

    /**
     * Returns a filter for a raw socket that accepts TCP segments for the given ports. If the ports form too
     * many ranges for one program, the filter also accepts ports between them.
     *
     * @param withHeader whether packets include their IPv4 header
     */
    public static SocketFilter segmentsTo(BitSet ports, boolean withHeader) {
        SocketFilter filter = new SocketFilter();
        // RFC 1122 section 3.3.6: a raw socket also receives packets in link-layer broadcasts, which the kernel's
        // TCP ignores.
        filter.add(LOAD_WORD, 0, 0, PACKET_TYPE);
        filter.add(JUMP_IF_EQUAL, 1, 0, PACKET_HOST);
        filter.add(RETURN, 0, 0, REFUSE);
        // A socket bound to a link also receives segments that this host sends to the link's address.
        filter.add(LOAD_WORD, 0, 0, INTERFACE_INDEX);
        filter.add(JUMP_IF_EQUAL, 0, 1, LOOPBACK_INDEX);
        filter.add(RETURN, 0, 0, REFUSE);
        if (withHeader) {
            filter.add(LOAD_HEADER_LENGTH, 0, 0, 0);
            filter.add(LOAD_HALF_INDIRECT, 0, 0, DESTINATION_PORT_OFFSET);
        } else {
            filter.add(LOAD_HALF, 0, 0, DESTINATION_PORT_OFFSET);
        }
        int blockBits = 0;
        BitSet blocks = ports;
        while (rangeCount(blocks) > MAX_RANGES) {
            blockBits++;
            blocks = halved(blocks);
        }
        int end;
        for (int first = blocks.nextSetBit(0); first >= 0; first = blocks.nextSetBit(end)) {
            end = blocks.nextClearBit(first);
            filter.add(JUMP_IF_AT_LEAST, 0, 2, first << blockBits);
            filter.add(JUMP_IF_AT_LEAST, 1, 0, end << blockBits);
            filter.add(RETURN, 0, 0, ACCEPT);
        }
        filter.add(RETURN, 0, 0, REFUSE);
        return filter;
    }

    private static int rangeCount(BitSet blocks) {
        int ranges = 0;
        for (int i = blocks.nextSetBit(0); i >= 0; i = blocks.nextSetBit(blocks.nextClearBit(i))) {
            ranges++;
        }
        return ranges;
    }

    private static BitSet halved(BitSet blocks) {
        BitSet halved = new BitSet();
        blocks.stream().forEach(block -> halved.set(block >>> 1));
        return halved;
    }

    private void refuseIpv4(IpAddress address) {
        add(LOAD_WORD, 0, 0, NETWORK_HEADER + DESTINATION_OFFSET_IPV4);
        add(JUMP_IF_EQUAL, 0, 1, address.ipv4());
        add(RETURN, 0, 0, REFUSE);
    }

    private void refuseIpv6(IpAddress address) {
        for (int word = 0; word < WORDS_IPV6; word++) {
            long half = word < 2 ? address.high() : address.low();
            add(LOAD_WORD, 0, 0, NETWORK_HEADER + DESTINATION_OFFSET_IPV6 + word * Integer.BYTES);
            // Skip the remaining words, two instructions each, and the refusal.
            add(JUMP_IF_EQUAL, 0, 2 * (WORDS_IPV6 - 1 - word) + 1,
                    (int) ((word & 1) == 0 ? half >>> Integer.SIZE : half));
        }
        add(RETURN, 0, 0, REFUSE);
    }

    private void add(int code, int jumpTrue, int jumpFalse, int operand) {
        // The fields of a little-endian struct sock_filter.
        instructions.add((long) operand << Integer.SIZE | (long) jumpFalse << 24 | (long) jumpTrue << 16 | code);
    }

    /**
     * Attaches the filter to a TCP socket that need not be bound. Returns false if this process lacks the
     * capability.
     */
    public boolean attachBeforeBind(int fd) {
        return attach(fd) == 0;
    }

    /**
     * Attaches the filter to a TCP socket that is bound to a port; replaces a previous filter.
     *
     * @throws IOException if neither this process nor a broker is permitted to attach it; the message contains
     *         the reason
     */
    public void attachToTcp(int fd) throws IOException {
        int error = attach(fd);
        if (error == -Errno.EPERM && BrokerConnection.isConfigured()) {
            attachByBroker(fd);
        } else if (error != 0) {
            throw new IOException(Errno.describe(-error) + (error == -Errno.EPERM ? EPERM_EXPLANATION : ""));
        }
    }

    private void attachByBroker(int fd) throws IOException {
        long program = newProgram();
        try (BrokerConnection broker = BrokerConnection.connect()) {
            broker.attachFilter(fd, program + PROGRAM_BYTES, instructions.size());
        } finally {
            Libc.free(program);
        }
    }

    /** Attaches the filter to a socket; replaces a previous filter. Returns 0 or the negated error number. */
    int attach(int fd) {
        long program = newProgram();
        try {
            return NativeSocket.setOption(fd, NativeSocket.SOL_SOCKET, SO_ATTACH_FILTER, program, PROGRAM_BYTES);
        } finally {
            Libc.free(program);
        }
    }

    /** Allocates a {@code struct sock_fprog} followed by its instructions. The caller must free it. */
    private long newProgram() {
        long program = Libc.allocateZeroed(PROGRAM_BYTES + (long) instructions.size() * INSTRUCTION_BYTES);
        NativeMemory.putShort(program, (short) instructions.size());
        NativeMemory.putLong(program + PROGRAM_POINTER_OFFSET, program + PROGRAM_BYTES);
        for (int i = 0; i < instructions.size(); i++) {
            NativeMemory.putLong(program + PROGRAM_BYTES + (long) i * INSTRUCTION_BYTES, instructions.get(i));
        }
        return program;
    }
}
