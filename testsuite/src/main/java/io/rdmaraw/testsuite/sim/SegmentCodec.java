package io.rdmaraw.testsuite.sim;

import io.netty.buffer.ByteBuf;
import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.tcp.segment.Segment;
import io.rdmaraw.tcp.segment.TcpHeaderCodec;
import io.rdmaraw.wire.FrameParser;
import io.rdmaraw.wire.InternetChecksum;
import io.rdmaraw.wire.ParseCounters;
import io.rdmaraw.wire.ParseVerdict;
import io.rdmaraw.wire.ParsedFrame;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** Converts between the core's segments and IP packets with the transport's header classes. Not thread-safe. */
public final class SegmentCodec {
    private static final int SCRATCH_BYTES = 70_000;
    private static final ThreadLocal<MemorySegment> SCRATCH = ThreadLocal.withInitial(
            () -> Arena.ofAuto().allocate(SCRATCH_BYTES, 64));

    private final MemorySegment scratch = SCRATCH.get();
    private final long base = scratch.address();
    private final FrameParser parser = new FrameParser(new ParseCounters());
    private final ParsedFrame frame = new ParsedFrame();
    private final TcpHeaderCodec headers = new TcpHeaderCodec();

    /** Decodes all fields except the payload. Returns false if the packet is damaged. */
    public boolean decode(byte[] packet, Segment out) {
        MemorySegment.copy(packet, 0, scratch, ValueLayout.JAVA_BYTE, 0, packet.length);
        if (parser.parseIp(base, packet.length, false, frame) != ParseVerdict.TCP) {
            return false;
        }
        headers.read(frame, out);
        return true;
    }

    /** Returns the IP packet of a segment. */
    public byte[] encode(Segment segment) {
        int headerBytes = TcpHeaderCodec.headersLengthBytes(segment);
        int payloadBytes = segment.payloadLength();
        copyPayload(segment, base + headerBytes);
        long payloadSum = payloadBytes == 0 ? 0 : InternetChecksum.sum(base + headerBytes, payloadBytes);
        if (TcpHeaderCodec.write(segment, base, payloadSum) != headerBytes) {
            throw new SimulationFailure("headers are as long as announced", segment.toString());
        }
        return scratch.asSlice(0, (long) headerBytes + payloadBytes).toArray(ValueLayout.JAVA_BYTE);
    }

    private static void copyPayload(Segment segment, long target) {
        long at = target;
        for (int i = 0; i < segment.sliceCount(); i++) {
            ByteBuf buffer = segment.sliceBuffer(i);
            int length = segment.sliceLength(i);
            MemorySegment.copy(buffer.array(), buffer.arrayOffset() + segment.sliceIndex(i),
                    NativeMemory.segment(at, length), ValueLayout.JAVA_BYTE, 0, length);
            at += length;
        }
    }
}
