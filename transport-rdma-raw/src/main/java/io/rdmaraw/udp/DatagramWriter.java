package io.rdmaraw.udp;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.util.IllegalReferenceCountException;
import io.rdmaraw.host.DatagramPath;
import io.rdmaraw.memory.FrameBuf;
import io.rdmaraw.queue.FrameQueue;
import io.rdmaraw.wire.EtherType;
import io.rdmaraw.wire.EthernetHeader;
import io.rdmaraw.wire.InternetChecksum;
import io.rdmaraw.wire.IpProtocol;
import io.rdmaraw.wire.Ipv4Header;
import io.rdmaraw.wire.Ipv6Header;
import io.rdmaraw.wire.UdpHeader;
import io.rdmaraw.wire.UdpIpv4HeaderCodec;

import java.io.IOException;

/**
 * Writes UDP datagrams as frames. The headers are written to a slot. The payload becomes the second part of the frame
 * and is not copied if the device may read it in place. Datagrams longer than the MTU are fragmented. Used on the
 * loop's thread only.
 */
final class DatagramWriter {
    private static final int MAX_IPV4_PAYLOAD_BYTES = 65535 - Ipv4Header.MIN_LENGTH_BYTES - UdpHeader.LENGTH_BYTES;
    private static final int MAX_IPV6_PAYLOAD_BYTES = 65535 - UdpHeader.LENGTH_BYTES;
    /** The length of each fragment except the last is a multiple of this (RFC 791 section 3.1). */
    private static final int FRAGMENT_UNIT_BYTES = 8;

    private final FrameQueue frameQueue;
    private final int mtuBytes;
    /**
     * Whether the device computes checksums. It does so for unfragmented datagrams only, because the checksum of a
     * fragmented one covers several frames.
     */
    private final boolean offloadsChecksums;
    private final DatagramSettings settings;
    private final UdpIpv4HeaderCodec headerCodec = new UdpIpv4HeaderCodec();

    DatagramWriter(FrameQueue frameQueue, int mtuBytes, DatagramSettings settings) {
        this.frameQueue = frameQueue;
        this.mtuBytes = mtuBytes;
        this.settings = settings;
        offloadsChecksums = frameQueue.offloadsChecksums();
    }

    FrameQueue frameQueue() {
        return frameQueue;
    }

    /**
     * Checks the length of a datagram.
     *
     * @throws IOException if it exceeds the maximum of IP or needs more fragments than a burst holds
     */
    void check(DatagramPath path, int lengthBytes) throws IOException {
        int limit = path.isIpv4() ? MAX_IPV4_PAYLOAD_BYTES : MAX_IPV6_PAYLOAD_BYTES;
        if (lengthBytes > limit) {
            throw new IOException("Message too long: a datagram carries at most " + limit + " bytes over IPv"
                    + (path.isIpv4() ? 4 : 6) + ", not " + lengthBytes);
        }
        int fragments = frameCount(path, lengthBytes);
        if (fragments > FrameQueue.MAX_BURST_FRAMES) {
            throw new IOException("Message too long: " + lengthBytes + " bytes are " + fragments
                    + " fragments at an MTU of " + mtuBytes + ", and at most " + FrameQueue.MAX_BURST_FRAMES
                    + " are sent");
        }
    }

    private int ipPayloadBytes(DatagramPath path) {
        return Math.min(mtuBytes, path.mtuBytes())
                - (path.isIpv4() ? Ipv4Header.MIN_LENGTH_BYTES : Ipv6Header.LENGTH_BYTES);
    }

    private int fragmentBytes(DatagramPath path) {
        int extension = path.isIpv4() ? 0 : Ipv6Header.FRAGMENT_LENGTH_BYTES;
        return (ipPayloadBytes(path) - extension) / FRAGMENT_UNIT_BYTES * FRAGMENT_UNIT_BYTES;
    }

    private int frameCount(DatagramPath path, int lengthBytes) {
        int udpBytes = UdpHeader.LENGTH_BYTES + lengthBytes;
        return udpBytes <= ipPayloadBytes(path) ? 1 : Math.ceilDiv(udpBytes, fragmentBytes(path));
    }

    /**
     * Offers a datagram to the queue.
     *
     * @param content payload, read by index; the caller keeps its reference
     * @param exclusive whether the device may read the content after the write has completed; otherwise it is copied
     * @return the number of frames; 0 if there is no room for all of them
     */
    int write(DatagramPath path, ByteBuf content, int index, int lengthBytes, boolean exclusive) {
        int count = frameCount(path, lengthBytes);
        if (frameQueue.sendRoom() < count || frameQueue.slots().available() < count) {
            return 0;
        }
        if (count == 1) {
            writeUnfragmented(path, content, index, lengthBytes, exclusive);
        } else {
            writeFragments(path, content, index, lengthBytes, exclusive);
        }
        return count;
    }

    private void writeUnfragmented(DatagramPath path, ByteBuf content, int index, int lengthBytes, boolean exclusive) {
        long contentSum = offloadsChecksums ? 0 : InternetChecksum.sum(content, index, lengthBytes);
        if (index == content.readerIndex() && lengthBytes == content.readableBytes()
                && content instanceof FrameBuf slot && frameQueue.slots().owns(slot)
                && slot.prepend(headerBytes(path))) {
            // A reply in the slot of the request: its headers overwrite those of the request.
            writeHeaders(path, slot.readableAddress(), lengthBytes, contentSum);
            slot.retain();
            frameQueue.offer(slot, Unpooled.EMPTY_BUFFER, offloadsChecksums);
            return;
        }
        FrameBuf headers = frameQueue.slots().acquire();
        writeHeaders(path, headers.memoryAddress(), lengthBytes, contentSum);
        headers.writerIndex(headerBytes(path));
        offer(headers, content, index, lengthBytes, exclusive, offloadsChecksums);
    }

    private void offer(FrameBuf headers, ByteBuf content, int index, int lengthBytes, boolean exclusive,
                       boolean fillChecksums) {
        if (exclusive) {
            boolean isWholeContent = index == content.readerIndex() && lengthBytes == content.readableBytes();
            frameQueue.offer(headers, isWholeContent ? content.retain() : content.retainedSlice(index, lengthBytes),
                    fillChecksums);
        } else {
            frameQueue.counters().copiedInFrames++;
            try {
                headers.writeBytes(content, index, lengthBytes);
            } catch (IllegalReferenceCountException e) {
                headers.release();
                throw e;
            }
            frameQueue.offer(headers, Unpooled.EMPTY_BUFFER, fillChecksums);
        }
    }

    private static int headerBytes(DatagramPath path) {
        return EthernetHeader.LENGTH_BYTES + UdpHeader.LENGTH_BYTES
                + (path.isIpv4() ? Ipv4Header.MIN_LENGTH_BYTES : Ipv6Header.LENGTH_BYTES);
    }

    private void writeHeaders(DatagramPath path, long address, int lengthBytes, long contentSum) {
        if (path.isIpv4()) {
            // RFC 6864: only packets that must not be fragmented may have no identification.
            boolean dontFragment = path.isDontFragment();
            headerCodec.write(address, path.targetMac(), path.sourceMac(), settings.trafficClass(), lengthBytes,
                    dontFragment ? 0 : path.nextIdentification(), dontFragment ? Ipv4Header.DONT_FRAGMENT : 0,
                    timeToLive(path), path.source().ipv4(), path.target().ipv4(), path.sourcePort(),
                    path.targetPort());
            if (!offloadsChecksums) {
                writeUdp(path, address + UdpIpv4HeaderCodec.LENGTH_BYTES - UdpHeader.LENGTH_BYTES, lengthBytes,
                        contentSum);
            }
            return;
        }
        int udpBytes = UdpHeader.LENGTH_BYTES + lengthBytes;
        int ipBytes = writeIpv6(path, address, udpBytes, IpProtocol.UDP);
        if (offloadsChecksums) {
            UdpHeader.write(address + ipBytes, path.sourcePort(), path.targetPort(), udpBytes);
        } else {
            writeUdp(path, address + ipBytes, lengthBytes, contentSum);
        }
    }

    private void writeFragments(DatagramPath path, ByteBuf content, int index, int lengthBytes, boolean exclusive) {
        int udpBytes = UdpHeader.LENGTH_BYTES + lengthBytes;
        int fragmentBytes = fragmentBytes(path);
        int id = path.nextIdentification();
        for (int offset = 0; offset < udpBytes; offset += fragmentBytes) {
            int bytes = Math.min(fragmentBytes, udpBytes - offset);
            boolean more = offset + bytes < udpBytes;
            FrameBuf headers = frameQueue.slots().acquire();
            long address = headers.memoryAddress();
            int headerBytes = writeFragmentHeaders(path, address, offset, bytes, more, id);
            int udpHeaderBytes = 0;
            if (offset == 0) {
                udpHeaderBytes = UdpHeader.LENGTH_BYTES;
                writeUdp(path, address + headerBytes, lengthBytes, InternetChecksum.sum(content, index, lengthBytes));
            }
            headers.writerIndex(headerBytes + udpHeaderBytes);
            int from = index + offset + udpHeaderBytes - UdpHeader.LENGTH_BYTES;
            offer(headers, content, from, bytes - udpHeaderBytes, exclusive, false);
        }
    }

    private int writeFragmentHeaders(DatagramPath path, long address, int offset, int bytes, boolean more, int id) {
        if (path.isIpv4()) {
            int flags = offset / FRAGMENT_UNIT_BYTES | (more ? Ipv4Header.MORE_FRAGMENTS : 0);
            return writeIpv4(path, address, bytes, flags, id);
        }
        int fragmentHeader = writeIpv6(path, address, Ipv6Header.FRAGMENT_LENGTH_BYTES + bytes, IpProtocol.FRAGMENT);
        Ipv6Header.writeFragment(address + fragmentHeader, IpProtocol.UDP, offset, more, id);
        return fragmentHeader + Ipv6Header.FRAGMENT_LENGTH_BYTES;
    }

    private int timeToLive(DatagramPath path) {
        return path.isMulticast() ? settings.multicastHops() : settings.unicastHops();
    }

    private int writeIpv4(DatagramPath path, long address, int payloadBytes, int flagsAndOffset, int id) {
        EthernetHeader.write(address, path.targetMac(), path.sourceMac(), EtherType.IPV4);
        Ipv4Header.write(address + EthernetHeader.LENGTH_BYTES, settings.trafficClass(),
                Ipv4Header.MIN_LENGTH_BYTES + payloadBytes, id, flagsAndOffset, timeToLive(path), IpProtocol.UDP,
                path.source().ipv4(), path.target().ipv4());
        return EthernetHeader.LENGTH_BYTES + Ipv4Header.MIN_LENGTH_BYTES;
    }

    private int writeIpv6(DatagramPath path, long address, int payloadBytes, int nextHeader) {
        EthernetHeader.write(address, path.targetMac(), path.sourceMac(), EtherType.IPV6);
        long ip = address + EthernetHeader.LENGTH_BYTES;
        Ipv6Header.writeFixed(ip, settings.trafficClass(), path.flowLabel(), payloadBytes, nextHeader,
                timeToLive(path));
        Ipv6Header.setSource(ip, path.source().high(), path.source().low());
        Ipv6Header.setDestination(ip, path.target().high(), path.target().low());
        return EthernetHeader.LENGTH_BYTES + Ipv6Header.LENGTH_BYTES;
    }

    private static void writeUdp(DatagramPath path, long address, int lengthBytes, long contentSum) {
        int udpBytes = UdpHeader.LENGTH_BYTES + lengthBytes;
        UdpHeader.write(address, path.sourcePort(), path.targetPort(), udpBytes);
        long sum = path.pseudoHeaderSum() + InternetChecksum.pseudoHeaderIpv4(0, 0, IpProtocol.UDP, udpBytes)
                + contentSum;
        UdpHeader.setChecksum(address,
                InternetChecksum.finish(InternetChecksum.sum(address, UdpHeader.LENGTH_BYTES, sum)));
    }
}
