package io.rdmaraw.testsuite.sim;

import io.netty.buffer.ByteBuf;
import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.tcp.Segment;
import io.rdmaraw.wire.FrameParser;
import io.rdmaraw.wire.InternetChecksum;
import io.rdmaraw.wire.IpProtocol;
import io.rdmaraw.wire.Ipv4Header;
import io.rdmaraw.wire.Ipv6Header;
import io.rdmaraw.wire.ParseCounters;
import io.rdmaraw.wire.ParseVerdict;
import io.rdmaraw.wire.ParsedFrame;
import io.rdmaraw.wire.TcpHeader;
import io.rdmaraw.wire.TcpOptionWriter;
import io.rdmaraw.wire.TcpOptions;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** Between a segment of the core and an IP packet, through the transport's own header classes. One thread only. */
public final class SegmentCodec {
    private static final int SCRATCH_BYTES = 70_000;
    private static final int TIME_TO_LIVE = 64;
    private static final ThreadLocal<MemorySegment> SCRATCH = ThreadLocal.withInitial(
            () -> Arena.ofAuto().allocate(SCRATCH_BYTES, 64));

    private final MemorySegment scratch = SCRATCH.get();
    private final long base = scratch.address();
    private final FrameParser parser = new FrameParser(new ParseCounters());
    private final ParsedFrame frame = new ParsedFrame();
    private final TcpOptions options = new TcpOptions();

    /** Fills all but the payload; returns false if the packet is damaged. */
    public boolean decode(byte[] packet, Segment out) {
        MemorySegment.copy(packet, 0, scratch, ValueLayout.JAVA_BYTE, 0, packet.length);
        if (parser.parseIp(base, packet.length, false, frame) != ParseVerdict.TCP) {
            return false;
        }
        out.clear();
        readAddresses(out);
        long header = frame.transportAddress();
        out.seq(TcpHeader.sequence(header)).ack(TcpHeader.acknowledgment(header)).flags(TcpHeader.flags(header));
        out.window(TcpHeader.window(header)).urgentPointer(TcpHeader.urgentPointer(header)).ecn(frame.ecn());
        options.parse(frame);
        out.mss(Math.max(0, options.maximumSegmentSize())).windowScale(options.windowScale());
        out.sackPermitted(options.isSackPermitted());
        if (options.hasTimestamps()) {
            out.timestamps(options.timestampValue(), options.timestampEcho());
        }
        for (int i = 0; i < options.sackBlockCount(); i++) {
            out.addSack(options.sackLeft(i), options.sackRight(i));
        }
        return true;
    }

    private void readAddresses(Segment out) {
        long network = frame.networkAddress();
        if (frame.ipVersion() == 4) {
            out.source(0, mapped(frame.sourceIpv4()), frame.sourcePort());
            out.destination(0, mapped(frame.destinationIpv4()), frame.destinationPort());
        } else {
            out.source(Ipv6Header.sourceHigh(network), Ipv6Header.sourceLow(network), frame.sourcePort());
            out.destination(Ipv6Header.destinationHigh(network), Ipv6Header.destinationLow(network),
                    frame.destinationPort());
        }
    }

    private static long mapped(int ipv4) {
        return 0xffff_0000_0000L | ipv4 & 0xffff_ffffL;
    }

    /** Returns the IP packet of a segment. */
    public byte[] encode(Segment segment) {
        boolean ipv4 = segment.sourceHigh() == 0 && segment.sourceLow() >>> 32 == 0xffff;
        int ipBytes = ipv4 ? Ipv4Header.MINIMUM_LENGTH_BYTES : Ipv6Header.LENGTH_BYTES;
        int optionBytes = segment.optionsLengthBytes();
        int headerBytes = TcpHeader.MINIMUM_LENGTH_BYTES + optionBytes;
        int tcpBytes = headerBytes + segment.payloadLength();
        long tcp = base + ipBytes;
        TcpHeader.write(tcp, segment.sourcePort(), segment.destinationPort(), segment.seq(), segment.ack(), headerBytes,
                segment.flags(), segment.window());
        long behind = writeOptions(segment, tcp + TcpHeader.MINIMUM_LENGTH_BYTES);
        if (behind != tcp + headerBytes) {
            throw new SimulationFailure("options are as long as announced", segment.toString());
        }
        copyPayload(segment, behind);
        writeIp(segment, ipv4, tcpBytes);
        long pseudo = ipv4 ? InternetChecksum.pseudoHeaderIpv4(base, IpProtocol.TCP, tcpBytes)
                : InternetChecksum.pseudoHeaderIpv6(base, IpProtocol.TCP, tcpBytes);
        TcpHeader.setChecksum(tcp, InternetChecksum.finish(InternetChecksum.sum(tcp, tcpBytes, pseudo)));
        return scratch.asSlice(0, (long) ipBytes + tcpBytes).toArray(ValueLayout.JAVA_BYTE);
    }

    private void writeIp(Segment segment, boolean ipv4, int tcpBytes) {
        int trafficClass = segment.dscp() << 2 | segment.ecn();
        if (ipv4) {
            Ipv4Header.write(base, trafficClass, Ipv4Header.MINIMUM_LENGTH_BYTES + tcpBytes, 0,
                    Ipv4Header.DONT_FRAGMENT, TIME_TO_LIVE, IpProtocol.TCP, (int) segment.sourceLow(),
                    (int) segment.destinationLow());
        } else {
            Ipv6Header.writeFixed(base, trafficClass, 0, tcpBytes, IpProtocol.TCP, TIME_TO_LIVE);
            Ipv6Header.setSource(base, segment.sourceHigh(), segment.sourceLow());
            Ipv6Header.setDestination(base, segment.destinationHigh(), segment.destinationLow());
        }
    }

    private static long writeOptions(Segment segment, long start) {
        long at = start;
        if (segment.mss() != 0) {
            at = TcpOptionWriter.maximumSegmentSize(at, segment.mss());
        }
        if (segment.hasTimestamps()) {
            at = segment.sackPermitted()
                    ? TcpOptionWriter.sackPermittedAndTimestamps(at, segment.tsValue(), segment.tsEcho())
                    : TcpOptionWriter.timestamps(at, segment.tsValue(), segment.tsEcho());
        } else if (segment.sackPermitted()) {
            at = TcpOptionWriter.sackPermitted(at);
        }
        if (segment.windowScale() != Segment.ABSENT) {
            at = TcpOptionWriter.windowScale(at, segment.windowScale());
        }
        if (segment.sackCount() > 0) {
            at = TcpOptionWriter.sackHead(at, segment.sackCount());
            for (int i = 0; i < segment.sackCount(); i++) {
                at = TcpOptionWriter.sackBlock(at, segment.sackStart(i), segment.sackEnd(i));
            }
        }
        return at;
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
