package io.rdmaraw.tools.bench;

import io.netty.buffer.ByteBuf;
import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.tcp.Segment;
import io.rdmaraw.tcp.SegmentHeaders;
import io.rdmaraw.wire.FrameParser;
import io.rdmaraw.wire.InternetChecksum;
import io.rdmaraw.wire.ParseCounters;
import io.rdmaraw.wire.ParseVerdict;
import io.rdmaraw.wire.ParsedFrame;

/**
 * Segments as IPv4 packets in native memory, and back: headers written, checksummed over header and payload, then
 * parsed and the checksum verified by the transport's own parser. The copy of the payload stands for the device's DMA.
 */
final class TcpPackets {
    private final FrameParser parser = new FrameParser(new ParseCounters());
    private final ParsedFrame frame = new ParsedFrame();
    private final SegmentHeaders headers = new SegmentHeaders();

    /** Writes the segment's packet and returns its length. The address has room for an MTU. */
    static int write(Segment s, long address) {
        int headerBytes = SegmentHeaders.lengthBytes(s);
        int payloadBytes = s.payloadLength();
        long payloadSum = 0;
        if (payloadBytes > 0) {
            copyPayload(s, address + headerBytes);
            payloadSum = InternetChecksum.sum(address + headerBytes, payloadBytes);
        }
        SegmentHeaders.write(s, address, payloadSum);
        return headerBytes + payloadBytes;
    }

    private static void copyPayload(Segment s, long address) {
        long target = address;
        for (int i = 0; i < s.sliceCount(); i++) {
            NativeMemory.copy(s.sliceBuffer(i).memoryAddress() + s.sliceIndex(i), target, s.sliceLength(i));
            target += s.sliceLength(i);
        }
    }

    /**
     * Parses a packet of {@link #write}.
     *
     * @param memory  the buffer that the packet lies in
     * @param address the address of index 0 of that buffer
     */
    void read(ByteBuf memory, long address, int index, int lengthBytes, Segment out) {
        ParseVerdict verdict = parser.parseIp(address + index, lengthBytes, false, frame);
        if (verdict != ParseVerdict.TCP) {
            throw new IllegalStateException("a packet written here was refused: " + verdict);
        }
        headers.read(frame, out);
        out.payload(memory, (int) (frame.payloadAddress() - address), frame.payloadLengthBytes());
    }

    /** An IPv4 address as the low half of an IPv4-mapped one. */
    static long mapped(int address) {
        return 0xFFFF_0000_0000L | address & 0xFFFF_FFFFL;
    }
}
