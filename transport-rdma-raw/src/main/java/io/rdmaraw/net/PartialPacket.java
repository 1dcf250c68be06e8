package io.rdmaraw.net;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.wire.BufferAddress;
import io.rdmaraw.wire.EthernetHeader;
import io.rdmaraw.wire.ParsedFrame;

import java.util.Arrays;

/** An incomplete packet. Its buffer has room for the headers of a frame at the start. */
final class PartialPacket {
    private static final int MAX_PAYLOAD_BYTES = 65535;
    private static final int MIN_CAPACITY_BYTES = 2048;
    /** Unit of fragment offsets. All fragments except the last are multiples of it. */
    private static final int UNIT_BYTES = 8;
    private static final int CONGESTION_EXPERIENCED = 3;

    private final ByteBufAllocator allocator;
    private final int headersBytes;
    /** Grows with the received fragments. */
    private ByteBuf bytes;
    /** Bit map of the received units. */
    private long[] receivedUnits = new long[4];
    private int fragmentCount;
    private int receivedBytes;
    private int totalBytes = -1;
    /** Largest end offset of the received fragments. */
    private int maxEnd;
    /** The headers of the frame with the first fragment, or null before it has arrived. */
    private byte[] firstHeaders;
    private int firstLengthBytes;
    private long destinationMac;
    private long sourceMac;
    private int protocol;
    private int hopLimit;
    private int trafficClass;
    /** Bit map of the values of the fragments' ECN fields. */
    private int ecnValues;

    PartialPacket(ByteBufAllocator allocator, int headersBytes) {
        this.allocator = allocator;
        this.headersBytes = headersBytes;
        bytes = allocator.directBuffer(MIN_CAPACITY_BYTES);
    }

    /** Adds a fragment. Returns false if the packet must be discarded. */
    boolean add(ParsedFrame fragment) {
        int offset = fragment.fragmentOffsetBytes();
        int lengthBytes = fragment.payloadLengthBytes();
        int end = offset + lengthBytes;
        fragmentCount++;
        ecnValues |= 1 << fragment.ecn();
        maxEnd = Math.max(maxEnd, end);
        if (!fragment.hasMoreFragments()) {
            if (totalBytes >= 0 && totalBytes != end) {
                return false;
            }
            totalBytes = end;
        }
        // No fragment may extend beyond the last one, whichever arrived first. Otherwise its bytes would be
        // counted instead of missing ones.
        if (end > MAX_PAYLOAD_BYTES || totalBytes >= 0 && maxEnd > totalBytes) {
            return false;
        }
        if (hasMark() && (ecnValues & 1) != 0) {
            // RFC 3168 section 5.3: a marked fragment together with a not-ECT one requires that the packet be
            // dropped.
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
        receivedBytes += lengthBytes;
        if (offset == 0) {
            saveHeaders(fragment);
        }
        return true;
    }

    /** Marks units as received. Returns the number of units that had been received before. */
    private int mark(int firstUnit, int units) {
        int words = (firstUnit + units + Long.SIZE - 1) / Long.SIZE;
        if (words > receivedUnits.length) {
            receivedUnits = Arrays.copyOf(receivedUnits, Math.max(words, 2 * receivedUnits.length));
        }
        int repeated = 0;
        for (int unit = firstUnit; unit < firstUnit + units; unit++) {
            long bit = 1L << unit;
            repeated += (receivedUnits[unit / Long.SIZE] & bit) == 0 ? 0 : 1;
            receivedUnits[unit / Long.SIZE] |= bit;
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

    private void saveHeaders(ParsedFrame fragment) {
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

    /** Returns whether the packet is complete. */
    boolean isComplete() {
        return receivedBytes == totalBytes;
    }

    int fragmentCount() {
        return fragmentCount;
    }

    /** Returns the memory used by the packet. */
    int capacityBytes() {
        return bytes.capacity() + receivedUnits.length * Long.BYTES + (firstHeaders == null ? 0 : firstHeaders.length);
    }

    /**
     * Returns the buffer with the complete packet after room for its headers. The reference passes to the
     * caller.
     */
    ByteBuf frame() {
        return bytes.writerIndex(headersBytes + totalBytes);
    }

    /** Returns a copy of the frame with the first fragment, or null before it has arrived. */
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

    /** Returns the traffic class. A congestion mark on any fragment marks the packet (RFC 3168 section 5.3). */
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
