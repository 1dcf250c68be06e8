package io.rdmaraw.netlink;

import io.rdmaraw.ffi.Libc;
import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.ffi.NetworkOrder;

/** Writes a netlink message: {@code struct nlmsghdr}, a fixed part and attributes ({@code <linux/netlink.h>}). */
public final class NetlinkWriter implements AutoCloseable {
    public static final int NLM_F_REQUEST = 0x1;
    public static final int NLM_F_MULTI = 0x2;
    public static final int NLM_F_ACK = 0x4;
    public static final int NLM_F_REPLACE = 0x100;
    public static final int NLM_F_DUMP = 0x300;
    public static final int NLM_F_CREATE = 0x400;
    public static final int NLM_F_APPEND = 0x800;
    public static final int HEADER_BYTES = 16;
    private static final int ATTRIBUTE_HEADER_BYTES = 4;
    private static final int MAC_BYTES = 6;
    private static final int CAPACITY_BYTES = 512;

    private final long address = Libc.allocateZeroed(CAPACITY_BYTES);
    private int lengthBytes;

    /** Begins a message with a zeroed fixed part of the given length. */
    public NetlinkWriter begin(int type, int flags, int sequence, int fixedBytes) {
        NativeMemory.fill(address, CAPACITY_BYTES, (byte) 0);
        NativeMemory.putShort(address + 4, (short) type);
        NativeMemory.putShort(address + 6, (short) flags);
        NativeMemory.putInt(address + 8, sequence);
        lengthBytes = HEADER_BYTES + fixedBytes;
        return this;
    }

    /** Writes a byte of the fixed part. */
    public NetlinkWriter fixedByte(int offset, int value) {
        NativeMemory.putByte(address + HEADER_BYTES + offset, (byte) value);
        return this;
    }

    /** Writes a 32-bit number of the fixed part. */
    public NetlinkWriter fixedInt(int offset, int value) {
        NativeMemory.putInt(address + HEADER_BYTES + offset, value);
        return this;
    }

    /** Adds an attribute with an IPv4 address. */
    public NetlinkWriter ipv4(int type, int value) {
        NetworkOrder.putInt(attribute(type, Integer.BYTES), value);
        return this;
    }

    /** Adds an attribute with an IPv6 address. */
    public NetlinkWriter ipv6(int type, long high, long low) {
        long at = attribute(type, 2 * Long.BYTES);
        NetworkOrder.putLong(at, high);
        NetworkOrder.putLong(at + Long.BYTES, low);
        return this;
    }

    /** Adds an attribute with a 32-bit number. */
    public NetlinkWriter number(int type, int value) {
        NativeMemory.putInt(attribute(type, Integer.BYTES), value);
        return this;
    }

    /** Adds an attribute with a MAC address. */
    public NetlinkWriter mac(int type, long value) {
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

    public long address() {
        return address;
    }

    /** Writes the length of the message and returns it. */
    public int finish() {
        NativeMemory.putInt(address, lengthBytes);
        return lengthBytes;
    }

    @Override
    public void close() {
        Libc.free(address);
    }
}
