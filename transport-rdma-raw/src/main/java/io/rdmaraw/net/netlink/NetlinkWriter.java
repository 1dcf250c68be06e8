package io.rdmaraw.net.netlink;

import io.rdmaraw.ffi.Libc;
import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.net.IpAddress;
import io.rdmaraw.ffi.NetworkOrder;

/** Writes one netlink message: {@code struct nlmsghdr}, a fixed part, attributes ({@code <linux/netlink.h>}). */
final class NetlinkWriter implements AutoCloseable {
    static final int NLM_F_REQUEST = 0x1;
    static final int NLM_F_ACK = 0x4;
    static final int NLM_F_DUMP = 0x300;
    static final int NLM_F_CREATE = 0x400;
    static final int HEADER_BYTES = 16;
    private static final int ATTRIBUTE_HEADER_BYTES = 4;
    private static final int MAC_BYTES = 6;
    private static final int CAPACITY_BYTES = 512;

    private final long address = Libc.allocateZeroed(CAPACITY_BYTES);
    private int lengthBytes;

    /** Begins a message whose fixed part has so many zeroed bytes. */
    NetlinkWriter begin(int type, int flags, int sequence, int fixedBytes) {
        NativeMemory.fill(address, CAPACITY_BYTES, (byte) 0);
        NativeMemory.putShort(address + 4, (short) type);
        NativeMemory.putShort(address + 6, (short) flags);
        NativeMemory.putInt(address + 8, sequence);
        lengthBytes = HEADER_BYTES + fixedBytes;
        return this;
    }

    /** Writes a byte of the fixed part. */
    NetlinkWriter fixedByte(int offset, int value) {
        NativeMemory.putByte(address + HEADER_BYTES + offset, (byte) value);
        return this;
    }

    /** Writes a 32-bit number of the fixed part. */
    NetlinkWriter fixedInt(int offset, int value) {
        NativeMemory.putInt(address + HEADER_BYTES + offset, value);
        return this;
    }

    /** Adds an IP address: 4 or 16 bytes in network order. */
    NetlinkWriter address(int type, IpAddress value) {
        if (value.isIpv4()) {
            NetworkOrder.putInt(attribute(type, Integer.BYTES), value.ipv4());
        } else {
            long at = attribute(type, 2 * Long.BYTES);
            NetworkOrder.putLong(at, value.high());
            NetworkOrder.putLong(at + Long.BYTES, value.low());
        }
        return this;
    }

    /** Adds a 32-bit number. */
    NetlinkWriter number(int type, int value) {
        NativeMemory.putInt(attribute(type, Integer.BYTES), value);
        return this;
    }

    /** Adds a MAC address. */
    NetlinkWriter mac(int type, long value) {
        NetworkOrder.putU48(attribute(type, MAC_BYTES), value);
        return this;
    }

    private long attribute(int type, int valueBytes) {
        long at = address + lengthBytes;
        NativeMemory.putShort(at, (short) (ATTRIBUTE_HEADER_BYTES + valueBytes));
        NativeMemory.putShort(at + 2, (short) type);
        lengthBytes += ATTRIBUTE_HEADER_BYTES + (valueBytes + 3 & ~3);
        return at + ATTRIBUTE_HEADER_BYTES;
    }

    long address() {
        return address;
    }

    /** Writes the length; returns it. */
    int finish() {
        NativeMemory.putInt(address, lengthBytes);
        return lengthBytes;
    }

    @Override
    public void close() {
        Libc.free(address);
    }
}
