package io.rdmaraw.channel;

import io.netty.buffer.ByteBuf;
import io.rdmaraw.memory.FrameBuf;
import io.rdmaraw.queue.FrameQueue;
import io.rdmaraw.tcp.Segment;
import io.rdmaraw.wire.EtherType;
import io.rdmaraw.wire.EthernetHeader;
import io.rdmaraw.wire.InternetChecksum;
import io.rdmaraw.wire.IpProtocol;
import io.rdmaraw.wire.Ipv4Header;
import io.rdmaraw.wire.Ipv6Header;
import io.rdmaraw.wire.TcpHeader;
import io.rdmaraw.wire.TcpOptionWriter;

/**
 * Writes segments of the TCP core as frames: the headers into a slot, the payload as further parts of the frame where
 * it lies in registered memory, or copied behind the headers. For the loop's thread.
 */
final class SegmentWriter {
    private static final int TIME_TO_LIVE = 64;
    /** Below this the copy costs less than another element for the device to fetch. */
    private static final int LEAST_IN_PLACE_BYTES = 256;

    private final FrameQueue queue;
    private final ByteBuf[] buffers = new ByteBuf[Segment.MAX_SLICES];
    private final int[] indices = new int[Segment.MAX_SLICES];
    private final int[] lengthsBytes = new int[Segment.MAX_SLICES];
    private long copiedSegments;

    SegmentWriter(FrameQueue queue) {
        this.queue = queue;
    }

    /** Returns how many segments had payload that lies in no registered memory, or in too many parts. */
    long copiedSegments() {
        return copiedSegments;
    }

    /** Tells whether a segment can be written now. */
    boolean hasRoom() {
        return queue.sendRoom() > 0 && queue.slots().available() > 0;
    }

    /**
     * Offers a segment to the queue, which {@link #hasRoom()}. The segment's payload is taken.
     *
     * @param targetMac where the frame goes
     */
    void write(Segment segment, long sourceMac, long targetMac) {
        FrameBuf headers = queue.slots().take();
        int frameBytes = writeHeaders(segment, headers, sourceMac, targetMac);
        headers.writerIndex(frameBytes);
        long tcp = headers.memoryAddress() + frameBytes - tcpHeaderBytes(segment);
        if (segment.payloadLength() >= LEAST_IN_PLACE_BYTES && isInPlace(segment)) {
            offerInPlace(segment, headers, tcp);
        } else {
            offerCopied(segment, headers, tcp);
        }
    }

    private boolean isInPlace(Segment segment) {
        int count = segment.sliceCount();
        boolean registered = count <= queue.maxParts();
        for (int i = 0; i < count && registered; i++) {
            registered = queue.isRegistered(segment.sliceBuffer(i), segment.sliceIndex(i), segment.sliceLength(i));
        }
        if (!registered) {
            copiedSegments++;
        }
        return registered;
    }

    private void offerInPlace(Segment segment, FrameBuf headers, long tcp) {
        int count = segment.sliceCount();
        long sum = headerSum(segment, tcp);
        int offset = 0;
        for (int i = 0; i < count; i++) {
            buffers[i] = segment.sliceBuffer(i);
            indices[i] = segment.sliceIndex(i);
            lengthsBytes[i] = segment.sliceLength(i);
            long part = InternetChecksum.sum(buffers[i].memoryAddress() + indices[i], lengthsBytes[i]);
            sum = (offset & 1) == 0 ? sum + part : InternetChecksum.addAtOddOffset(sum, part);
            offset += lengthsBytes[i];
        }
        TcpHeader.setChecksum(tcp, InternetChecksum.finish(sum));
        queue.offer(headers, buffers, indices, lengthsBytes, count);
        segment.detachPayload();
    }

    private void offerCopied(Segment segment, FrameBuf headers, long tcp) {
        int payloadBytes = segment.payloadLength();
        for (int i = 0; i < segment.sliceCount(); i++) {
            headers.writeBytes(segment.sliceBuffer(i), segment.sliceIndex(i), segment.sliceLength(i));
        }
        long sum = headerSum(segment, tcp);
        if (payloadBytes > 0) {
            sum += InternetChecksum.sum(tcp + tcpHeaderBytes(segment), payloadBytes);
            segment.transmitted();
        }
        TcpHeader.setChecksum(tcp, InternetChecksum.finish(sum));
        queue.offer(headers);
    }

    private static int tcpHeaderBytes(Segment segment) {
        return TcpHeader.MINIMUM_LENGTH_BYTES + segment.optionsLengthBytes();
    }

    private static boolean isIpv4(Segment segment) {
        return segment.sourceHigh() == 0 && segment.sourceLow() >>> 32 == 0xffff;
    }

    /** The sum of pseudo header and TCP header; the payload begins at an even offset. */
    private static long headerSum(Segment segment, long tcp) {
        int headerBytes = tcpHeaderBytes(segment);
        int tcpBytes = headerBytes + segment.payloadLength();
        long pseudo = isIpv4(segment)
                ? InternetChecksum.pseudoHeaderIpv4((int) segment.sourceLow(), (int) segment.destinationLow(),
                        IpProtocol.TCP, tcpBytes)
                : InternetChecksum.pseudoHeaderIpv6(segment.sourceHigh(), segment.sourceLow(),
                        segment.destinationHigh(), segment.destinationLow(), IpProtocol.TCP, tcpBytes);
        return InternetChecksum.sum(tcp, headerBytes, pseudo);
    }

    /** Writes all headers, the TCP checksum as 0; returns their length. */
    private static int writeHeaders(Segment segment, FrameBuf headers, long sourceMac, long targetMac) {
        long ethernet = headers.memoryAddress();
        long ip = ethernet + EthernetHeader.LENGTH_BYTES;
        int tcpHeaderBytes = tcpHeaderBytes(segment);
        int tcpBytes = tcpHeaderBytes + segment.payloadLength();
        int trafficClass = segment.dscp() << 2 | segment.ecn();
        int ipHeaderBytes;
        if (isIpv4(segment)) {
            ipHeaderBytes = Ipv4Header.MINIMUM_LENGTH_BYTES;
            EthernetHeader.write(ethernet, targetMac, sourceMac, EtherType.IPV4);
            // RFC 6864: nobody may cut it up, so it needs no identification.
            Ipv4Header.write(ip, trafficClass, ipHeaderBytes + tcpBytes, 0, Ipv4Header.DONT_FRAGMENT, TIME_TO_LIVE,
                    IpProtocol.TCP, (int) segment.sourceLow(), (int) segment.destinationLow());
        } else {
            ipHeaderBytes = Ipv6Header.LENGTH_BYTES;
            EthernetHeader.write(ethernet, targetMac, sourceMac, EtherType.IPV6);
            Ipv6Header.writeFixed(ip, trafficClass, 0, tcpBytes, IpProtocol.TCP, TIME_TO_LIVE);
            Ipv6Header.setSource(ip, segment.sourceHigh(), segment.sourceLow());
            Ipv6Header.setDestination(ip, segment.destinationHigh(), segment.destinationLow());
        }
        long tcp = ip + ipHeaderBytes;
        TcpHeader.write(tcp, segment.sourcePort(), segment.destinationPort(), segment.seq(), segment.ack(),
                tcpHeaderBytes, segment.flags(), segment.window());
        writeOptions(segment, tcp + TcpHeader.MINIMUM_LENGTH_BYTES);
        return EthernetHeader.LENGTH_BYTES + ipHeaderBytes + tcpHeaderBytes;
    }

    private static void writeOptions(Segment segment, long start) {
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
    }
}
