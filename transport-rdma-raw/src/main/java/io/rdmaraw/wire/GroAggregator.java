package io.rdmaraw.wire;

import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.ffi.NetworkOrder;

import java.util.Arrays;

/**
 * Recognizes consecutive frames of a TCP stream. Each frame of a run continues where the previous one ends, and
 * its headers differ only in the fields that advance. Bulk senders produce such runs. Once the first frame is
 * parsed, the others are recognized by comparing a few words (as Linux's tcp_gro_receive). Only untagged frames
 * without IP options are supported. Not thread-safe.
 */
public final class GroAggregator {
    /** Number of bytes that are read even if a frame is shorter. They must be mapped. */
    public static final int READ_BYTES = 120;
    private static final int ACK = 0x10;
    private static final int PSH = 0x08;
    private static final int IP_OFFSET = EthernetHeader.LENGTH_BYTES;
    private static final int IPV4_TCP_OFFSET = IP_OFFSET + Ipv4Header.MIN_LENGTH_BYTES;
    private static final int IPV6_TCP_OFFSET = IP_OFFSET + Ipv6Header.LENGTH_BYTES;
    private static final int SEQUENCE_OFFSET = 4;
    private static final int FLAGS_OFFSET = 13;
    private static final int CHECKSUM_OFFSET = 16;
    /**
     * The listed offsets may differ between segments: length, identification and checksum of IPv4, and length of
     * IPv6.
     */
    private static final byte[] IPV4_COMPARED_BITS = comparedBits(IPV4_TCP_OFFSET, 16, 17, 18, 19, 24, 25);
    private static final byte[] IPV6_COMPARED_BITS = comparedBits(IPV6_TCP_OFFSET, 18, 19);

    private final long[] first = new long[READ_BYTES / Long.BYTES];
    private final long[] next = new long[first.length];
    private final long[] masks = new long[first.length];
    /** Header layout that {@link #masks} is computed for. */
    private int maskedTcpOffset;
    private int maskedHeaderBytes;
    private boolean ipv4;
    private int headerBytes;
    private int segmentBytes;
    private int nextSequence;
    /** No frame can follow the last one. */
    private boolean complete;
    private boolean hasPush;

    /** Returns a mask with one byte per byte of the frame: the bits that must be equal. */
    private static byte[] comparedBits(int tcpOffset, int... differingOffsets) {
        byte[] mask = new byte[READ_BYTES];
        Arrays.fill(mask, (byte) -1);
        for (int offset : differingOffsets) {
            mask[offset] = 0;
        }
        Arrays.fill(mask, tcpOffset + SEQUENCE_OFFSET, tcpOffset + SEQUENCE_OFFSET + Integer.BYTES, (byte) 0);
        mask[tcpOffset + FLAGS_OFFSET] = ~PSH;
        mask[tcpOffset + CHECKSUM_OFFSET] = 0;
        mask[tcpOffset + CHECKSUM_OFFSET + 1] = 0;
        return mask;
    }

    /**
     * Starts a run with a frame parsed as TCP. {@link #READ_BYTES} bytes of it must be readable.
     *
     * @return whether other frames may follow
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
        nextSequence = TcpHeader.sequence(tcp) + segmentBytes;
        complete = false;
        hasPush = false;
        NativeMemory.getLongs(frame.frameAddress, first);
        if (maskedHeaderBytes != headerBytes || maskedTcpOffset != tcpOffset) {
            maskedHeaderBytes = headerBytes;
            maskedTcpOffset = tcpOffset;
            setMasks(ipv4 ? IPV4_COMPARED_BITS : IPV6_COMPARED_BITS);
        }
        return true;
    }

    private void setMasks(byte[] comparedBits) {
        for (int word = 0; word < masks.length; word++) {
            long mask = 0;
            for (int i = 0; i < Long.BYTES; i++) {
                int at = word * Long.BYTES + i;
                // In the order in which words are loaded: the first byte is the lowest.
                mask |= at < headerBytes ? (comparedBits[at] & 0xffL) << i * Byte.SIZE : 0;
            }
            masks[word] = mask;
        }
    }

    /** Returns the payload of each frame except the last, which may have less. */
    public int segmentBytes() {
        return segmentBytes;
    }

    /** Returns the offset of the payload in each frame. */
    public int headerBytes() {
        return headerBytes;
    }

    /** Returns whether the last frame has PSH set, which ends the run. */
    public boolean hasPush() {
        return hasPush;
    }

    /**
     * Adds a frame with verified checksums if it continues the run.
     *
     * @param address address at which {@link #READ_BYTES} bytes are readable
     * @return the payload length; 0 if the frame does not continue the run
     */
    int merge(long address, int lengthBytes) {
        int payloadBytes = lengthBytes - headerBytes;
        if (complete || payloadBytes <= 0 || payloadBytes > segmentBytes) {
            return 0;
        }
        NativeMemory.getLongs(address, next);
        long different = 0;
        for (int i = 0; i < next.length; i++) {
            different |= (next[i] ^ first[i]) & masks[i];
        }
        int tcpOffset = ipv4 ? IPV4_TCP_OFFSET : IPV6_TCP_OFFSET;
        int ipLengthBytes = ipv4 ? Ipv4Header.totalLengthBytes(address + IP_OFFSET) + IP_OFFSET
                : Ipv6Header.payloadLengthBytes(address + IP_OFFSET) + IPV6_TCP_OFFSET;
        if (different != 0 || ipLengthBytes != lengthBytes || TcpHeader.sequence(address + tcpOffset) != nextSequence) {
            return 0;
        }
        nextSequence += payloadBytes;
        hasPush = (NetworkOrder.getU8(address + tcpOffset + FLAGS_OFFSET) & PSH) != 0;
        complete = hasPush || payloadBytes < segmentBytes;
        return payloadBytes;
    }
}
