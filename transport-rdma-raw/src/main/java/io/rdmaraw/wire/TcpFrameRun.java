package io.rdmaraw.wire;

import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.ffi.NetworkOrder;

import java.util.Arrays;

/**
 * Frames that are one stretch of a TCP stream: each goes on where the one before ends, and their headers are the same
 * but for what counts on. A sender of much data makes such runs, and what knows the first knows the others by comparing
 * a few words (tcp_gro_receive of Linux). Untagged frames whose IP header has no options. For one thread.
 */
public final class TcpFrameRun {
    /** The number of bytes that are read, even of a shorter frame; they must be mapped. */
    public static final int READ_BYTES = 120;
    private static final int ACK = 0x10;
    private static final int PSH = 0x08;
    private static final int IP_OFFSET = EthernetHeader.LENGTH_BYTES;
    private static final int IPV4_TCP_OFFSET = IP_OFFSET + Ipv4Header.MINIMUM_LENGTH_BYTES;
    private static final int IPV6_TCP_OFFSET = IP_OFFSET + Ipv6Header.LENGTH_BYTES;
    private static final int SEQUENCE_OFFSET = 4;
    private static final int FLAGS_OFFSET = 13;
    private static final int CHECKSUM_OFFSET = 16;
    /** Length, identification and checksum of IPv4, and the length of IPv6: these differ between segments. */
    private static final byte[] IPV4_SAME = same(IPV4_TCP_OFFSET, 16, 17, 18, 19, 24, 25);
    private static final byte[] IPV6_SAME = same(IPV6_TCP_OFFSET, 18, 19);

    private final long[] first = new long[READ_BYTES / Long.BYTES];
    private final long[] next = new long[first.length];
    private final long[] masks = new long[first.length];
    /** What the masks are for. */
    private int maskedTcpOffset;
    private int maskedHeaderBytes;
    private boolean ipv4;
    private int headerBytes;
    private int segmentBytes;
    private int sequence;
    /** Nothing follows the frame that was taken last. */
    private boolean over;
    private boolean pushed;

    /** A byte for each of a frame's: which bits have to be the same. */
    private static byte[] same(int tcpOffset, int... different) {
        byte[] mask = new byte[READ_BYTES];
        Arrays.fill(mask, (byte) -1);
        for (int offset : different) {
            mask[offset] = 0;
        }
        Arrays.fill(mask, tcpOffset + SEQUENCE_OFFSET, tcpOffset + SEQUENCE_OFFSET + Integer.BYTES, (byte) 0);
        mask[tcpOffset + FLAGS_OFFSET] = ~PSH;
        mask[tcpOffset + CHECKSUM_OFFSET] = 0;
        mask[tcpOffset + CHECKSUM_OFFSET + 1] = 0;
        return mask;
    }

    /**
     * Begins with a frame that was parsed as TCP, of which {@link #READ_BYTES} bytes can be read.
     *
     * @return whether others may follow it
     */
    public boolean begin(ParsedFrame frame) {
        ipv4 = frame.ipVersion == 4;
        int tcpOffset = ipv4 ? IPV4_TCP_OFFSET : IPV6_TCP_OFFSET;
        headerBytes = frame.payloadOffset;
        segmentBytes = frame.payloadLengthBytes;
        long tcp = frame.frameAddress + tcpOffset;
        if (frame.networkOffset != IP_OFFSET || frame.transportOffset != tcpOffset || segmentBytes == 0
                || headerBytes + segmentBytes != frame.frameLengthBytes
                || NetworkOrder.getU8(tcp + FLAGS_OFFSET) != ACK) {
            return false;
        }
        sequence = TcpHeader.sequence(tcp) + segmentBytes;
        over = false;
        pushed = false;
        NativeMemory.getLongs(frame.frameAddress, first);
        if (maskedHeaderBytes != headerBytes || maskedTcpOffset != tcpOffset) {
            maskedHeaderBytes = headerBytes;
            maskedTcpOffset = tcpOffset;
            setMasks(ipv4 ? IPV4_SAME : IPV6_SAME);
        }
        return true;
    }

    private void setMasks(byte[] same) {
        for (int word = 0; word < masks.length; word++) {
            long mask = 0;
            for (int i = 0; i < Long.BYTES; i++) {
                int at = word * Long.BYTES + i;
                // As the words are read: the first byte is the lowest.
                mask |= at < headerBytes ? (same[at] & 0xffL) << i * Byte.SIZE : 0;
            }
            masks[word] = mask;
        }
    }

    /** Returns how much payload each segment has but the last, which may have less. */
    public int segmentBytes() {
        return segmentBytes;
    }

    /** Returns where the payload begins in each frame. */
    public int headerBytes() {
        return headerBytes;
    }

    /** Tells whether the last frame says that the peer has no more to send for now (PSH); it ends the run. */
    public boolean isPushed() {
        return pushed;
    }

    /**
     * Takes a frame whose checksums have been verified if it goes on where the run ends.
     *
     * @param address where {@link #READ_BYTES} bytes can be read
     * @return its payload's length; 0: it does not
     */
    int take(long address, int lengthBytes) {
        int payloadBytes = lengthBytes - headerBytes;
        if (over || payloadBytes <= 0 || payloadBytes > segmentBytes) {
            return 0;
        }
        NativeMemory.getLongs(address, next);
        long different = 0;
        for (int i = 0; i < next.length; i++) {
            different |= (next[i] ^ first[i]) & masks[i];
        }
        int tcpOffset = ipv4 ? IPV4_TCP_OFFSET : IPV6_TCP_OFFSET;
        int saidBytes = ipv4 ? Ipv4Header.totalLengthBytes(address + IP_OFFSET) + IP_OFFSET
                : Ipv6Header.payloadLengthBytes(address + IP_OFFSET) + IPV6_TCP_OFFSET;
        if (different != 0 || saidBytes != lengthBytes || TcpHeader.sequence(address + tcpOffset) != sequence) {
            return 0;
        }
        sequence += payloadBytes;
        pushed = (NetworkOrder.getU8(address + tcpOffset + FLAGS_OFFSET) & PSH) != 0;
        over = pushed || payloadBytes < segmentBytes;
        return payloadBytes;
    }
}
