package io.rdmaraw.net;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.wire.BufferAddress;
import io.rdmaraw.wire.EthernetHeader;
import io.rdmaraw.wire.ParsedFrame;

import java.util.Arrays;

/** A packet of which parts may be missing, with room before it for the headers of a frame. */
final class PartialPacket {
    private static final int MAX_PAYLOAD_BYTES = 65535;
    private static final int MIN_CAPACITY_BYTES = 2048;
    /** What a fragment's offset counts in; all fragments but the last are multiples of that. */
    private static final int UNIT_BYTES = 8;
    private static final int CONGESTION_EXPERIENCED = 3;

    private final ByteBufAllocator allocator;
    private final int headersBytes;
    /** Grows with what comes. */
    private ByteBuf bytes;
    /** One bit per unit that is there. */
    private long[] present = new long[4];
    private int fragments;
    private int presentBytes;
    private int totalBytes = -1;
    /** Where the fragment ends that lies farthest behind. */
    private int farthestEnd;
    /** The headers of the frame that brought the first fragment; null while it has not come. */
    private byte[] firstHeaders;
    private int firstLengthBytes;
    private long destinationMac;
    private long sourceMac;
    private int protocol;
    private int hopLimit;
    private int trafficClass;
    /** A bit for each value that the ECN fields of the fragments have had. */
    private int ecnValues;

    PartialPacket(ByteBufAllocator allocator, int headersBytes) {
        this.allocator = allocator;
        this.headersBytes = headersBytes;
        bytes = allocator.directBuffer(MIN_CAPACITY_BYTES);
    }

    /** Takes a fragment; returns false when the packet is spoilt by it. */
    boolean place(ParsedFrame fragment) {
        int offset = fragment.fragmentOffsetBytes();
        int lengthBytes = fragment.payloadLengthBytes();
        int end = offset + lengthBytes;
        fragments++;
        ecnValues |= 1 << fragment.ecn();
        farthestEnd = Math.max(farthestEnd, end);
        if (!fragment.isMoreFragments()) {
            if (totalBytes >= 0 && totalBytes != end) {
                return false;
            }
            totalBytes = end;
        }
        // Nothing lies behind the last one, whichever came first: else its bytes would count for missing ones.
        if (end > MAX_PAYLOAD_BYTES || totalBytes >= 0 && farthestEnd > totalBytes) {
            return false;
        }
        if (hasMark() && (ecnValues & 1) != 0) {
            // RFC 3168 section 5.3: some of it could bear no mark, so the packet has to be lost.
            return false;
        }
        int units = (end + UNIT_BYTES - 1) / UNIT_BYTES - offset / UNIT_BYTES;
        int repeated = mark(offset / UNIT_BYTES, units);
        if (repeated > 0) {
            return repeated == units;
        }
        reserve(headersBytes + end);
        bytes.writerIndex(bytes.capacity());
        NativeMemory.copy(fragment.payloadAddress(), BufferAddress.of(bytes) + headersBytes + offset, lengthBytes);
        presentBytes += lengthBytes;
        if (offset == 0) {
            keepHeaders(fragment);
        }
        return true;
    }

    /** Marks units as there; returns how many were there before. */
    private int mark(int firstUnit, int units) {
        int words = (firstUnit + units + Long.SIZE - 1) / Long.SIZE;
        if (words > present.length) {
            present = Arrays.copyOf(present, Math.max(words, 2 * present.length));
        }
        int repeated = 0;
        for (int unit = firstUnit; unit < firstUnit + units; unit++) {
            long bit = 1L << unit;
            repeated += (present[unit / Long.SIZE] & bit) == 0 ? 0 : 1;
            present[unit / Long.SIZE] |= bit;
        }
        return repeated;
    }

    private void reserve(int capacityBytes) {
        if (capacityBytes <= bytes.capacity()) {
            return;
        }
        int grown = Math.min(Math.max(capacityBytes, 2 * bytes.capacity()), headersBytes + MAX_PAYLOAD_BYTES);
        ByteBuf larger = allocator.directBuffer(grown);
        larger.setBytes(0, bytes, 0, bytes.capacity());
        bytes.release();
        bytes = larger;
    }

    private void keepHeaders(ParsedFrame fragment) {
        long frame = fragment.frameAddress();
        firstHeaders = new byte[fragment.payloadOffset()];
        NativeMemory.getBytes(frame, firstHeaders, 0, firstHeaders.length);
        firstLengthBytes = fragment.payloadLengthBytes();
        destinationMac = EthernetHeader.destination(frame);
        sourceMac = EthernetHeader.source(frame);
        protocol = fragment.protocol();
        hopLimit = fragment.hopLimit();
        trafficClass = fragment.trafficClass();
    }

    /** Tells whether nothing is missing. */
    boolean isWhole() {
        return presentBytes == totalBytes;
    }

    int fragments() {
        return fragments;
    }

    /** Returns what the packet takes of memory. */
    int capacityBytes() {
        return bytes.capacity() + present.length * Long.BYTES + (firstHeaders == null ? 0 : firstHeaders.length);
    }

    /** Returns the whole packet behind room for its headers, and its reference. */
    ByteBuf frame() {
        return bytes.writerIndex(headersBytes + totalBytes);
    }

    /** Returns a frame like the one that brought the first fragment, or null when that has not come. */
    ByteBuf firstFragment() {
        return firstHeaders == null ? null : allocator.directBuffer(firstHeaders.length + firstLengthBytes)
                .writeBytes(firstHeaders).writeBytes(bytes, headersBytes, firstLengthBytes);
    }

    long destinationMac() {
        return destinationMac;
    }

    long sourceMac() {
        return sourceMac;
    }

    int protocol() {
        return protocol;
    }

    int hopLimit() {
        return hopLimit;
    }

    /** Returns the traffic class; a router's mark on any fragment is one on the packet (RFC 3168 section 5.3). */
    int trafficClass() {
        return hasMark() ? trafficClass | CONGESTION_EXPERIENCED : trafficClass;
    }

    private boolean hasMark() {
        return (ecnValues & 1 << CONGESTION_EXPERIENCED) != 0;
    }

    void release() {
        bytes.release();
    }
}
