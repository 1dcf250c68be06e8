package io.rdmaraw.microbench.tcpcore;

import io.netty.buffer.ByteBuf;
import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.tcp.segment.Segment;
import io.rdmaraw.tcp.segment.TcpHeaderCodec;
import io.rdmaraw.wire.FrameParser;
import io.rdmaraw.wire.InternetChecksum;
import io.rdmaraw.wire.ParseCounters;
import io.rdmaraw.wire.ParseVerdict;
import io.rdmaraw.wire.ParsedFrame;

/**
 * Converts segments to IPv4 packets in native memory and back. Writing computes the checksums of headers and payload.
 * Reading uses the parser of the transport, which verifies them. Copying the payload simulates the DMA of a device.
 */
final class TcpPackets {
    private final FrameParser parser = new FrameParser(new ParseCounters());
    private final ParsedFrame frame = new ParsedFrame();
    private final TcpHeaderCodec headers = new TcpHeaderCodec();

    /**
     * Writes the packet of a segment and returns its length.
     *
     * @param address address of memory with space for at least the MTU
     */
    static int write(Segment s, long address) {
        int headerBytes = TcpHeaderCodec.headersLengthBytes(s);
        int payloadBytes = s.payloadLength();
        long payloadSum = 0;
        if (payloadBytes > 0) {
            copyPayload(s, address + headerBytes);
            payloadSum = InternetChecksum.sum(address + headerBytes, payloadBytes);
        }
        TcpHeaderCodec.write(s, address, payloadSum);
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
     * Parses a packet that {@link #write} has written.
     *
     * @param memory  buffer that contains the packet
     * @param address address of index 0 of that buffer
     */
    void read(ByteBuf memory, long address, int index, int lengthBytes, Segment out) {
        ParseVerdict verdict = parser.parseIp(address + index, lengthBytes, false, frame);
        if (verdict != ParseVerdict.TCP) {
            throw new IllegalStateException("a packet written here was refused: " + verdict);
        }
        headers.read(frame, out);
        out.payload(memory, (int) (frame.payloadAddress() - address), frame.payloadLengthBytes());
    }

    /** Returns an IPv4 address as the low half of an IPv4-mapped one. */
    static long mapped(int address) {
        return 0xFFFF_0000_0000L | address & 0xFFFF_FFFFL;
    }
}
