package io.rdmaraw.tools.bench;

import io.netty.buffer.ByteBuf;
import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.tcp.Segment;
import io.rdmaraw.wire.FrameParser;
import io.rdmaraw.wire.InternetChecksum;
import io.rdmaraw.wire.IpProtocol;
import io.rdmaraw.wire.Ipv4Header;
import io.rdmaraw.wire.ParseCounters;
import io.rdmaraw.wire.ParseVerdict;
import io.rdmaraw.wire.ParsedFrame;
import io.rdmaraw.wire.TcpHeader;
import io.rdmaraw.wire.TcpOptionWriter;
import io.rdmaraw.wire.TcpOptions;

/**
 * Segments as IPv4 packets in native memory, and back: headers written, checksummed over header and payload, then
 * parsed and the checksum verified by the transport's own parser. The copy of the payload stands for the device's DMA.
 */
final class TcpPackets {
    private static final int TIME_TO_LIVE = 64;

    private final FrameParser parser = new FrameParser(new ParseCounters());
    private final ParsedFrame frame = new ParsedFrame();
    private final TcpOptions options = new TcpOptions();

    /** Writes the segment's packet and returns its length. The address has room for an MTU. */
    static int write(Segment s, long address) {
        int headerBytes = TcpHeader.MINIMUM_LENGTH_BYTES + s.optionsLengthBytes();
        int tcpBytes = headerBytes + s.payloadLength();
        Ipv4Header.write(address, s.dscp() << 2 | s.ecn(), Ipv4Header.MINIMUM_LENGTH_BYTES + tcpBytes, 0,
                Ipv4Header.DONT_FRAGMENT, TIME_TO_LIVE, IpProtocol.TCP, (int) s.sourceLow(), (int) s.destinationLow());
        long tcp = address + Ipv4Header.MINIMUM_LENGTH_BYTES;
        TcpHeader.write(tcp, s.sourcePort(), s.destinationPort(), s.seq(), s.ack(), headerBytes, s.flags(),
                s.window());
        writeOptions(s, tcp + TcpHeader.MINIMUM_LENGTH_BYTES);
        copyPayload(s, tcp + headerBytes);
        long pseudo = InternetChecksum.pseudoHeaderIpv4(address, IpProtocol.TCP, tcpBytes);
        TcpHeader.setChecksum(tcp, InternetChecksum.finish(InternetChecksum.sum(tcp, tcpBytes, pseudo)));
        return Ipv4Header.MINIMUM_LENGTH_BYTES + tcpBytes;
    }

    private static void writeOptions(Segment s, long address) {
        long position = address;
        if (s.mss() != 0) {
            position = TcpOptionWriter.maximumSegmentSize(position, s.mss());
        }
        if (s.hasTimestamps()) {
            position = s.sackPermitted()
                    ? TcpOptionWriter.sackPermittedAndTimestamps(position, s.tsValue(), s.tsEcho())
                    : TcpOptionWriter.timestamps(position, s.tsValue(), s.tsEcho());
        } else if (s.sackPermitted()) {
            position = TcpOptionWriter.sackPermitted(position);
        }
        if (s.windowScale() != Segment.ABSENT) {
            position = TcpOptionWriter.windowScale(position, s.windowScale());
        }
        if (s.sackCount() > 0) {
            position = TcpOptionWriter.sackHead(position, s.sackCount());
            for (int i = 0; i < s.sackCount(); i++) {
                position = TcpOptionWriter.sackBlock(position, s.sackStart(i), s.sackEnd(i));
            }
        }
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
        if (verdict != ParseVerdict.TCP || !options.parse(frame)) {
            throw new IllegalStateException("a packet written here was refused: " + verdict);
        }
        long ip = frame.networkAddress();
        long tcp = frame.transportAddress();
        out.clear().source(0, mapped(Ipv4Header.source(ip)), frame.sourcePort())
                .destination(0, mapped(Ipv4Header.destination(ip)), frame.destinationPort())
                .seq(TcpHeader.sequence(tcp)).ack(TcpHeader.acknowledgment(tcp)).flags(TcpHeader.flags(tcp))
                .window(TcpHeader.window(tcp)).urgentPointer(TcpHeader.urgentPointer(tcp))
                .ecn(frame.trafficClass() & 3).dscp(frame.trafficClass() >>> 2);
        readOptions(out);
        out.payload(memory, (int) (frame.payloadAddress() - address), frame.payloadLengthBytes());
    }

    private void readOptions(Segment out) {
        if (options.hasTimestamps()) {
            out.timestamps(options.timestampValue(), options.timestampEcho());
        }
        out.sackPermitted(options.isSackPermitted());
        if (options.maximumSegmentSize() != TcpOptions.ABSENT) {
            out.mss(options.maximumSegmentSize());
        }
        if (options.windowScale() != TcpOptions.ABSENT) {
            out.windowScale(options.windowScale());
        }
        for (int i = 0; i < options.sackBlockCount(); i++) {
            out.addSack(options.sackLeft(i), options.sackRight(i));
        }
    }

    /** An IPv4 address as the low half of an IPv4-mapped one. */
    static long mapped(int address) {
        return 0xFFFF_0000_0000L | address & 0xFFFF_FFFFL;
    }
}
