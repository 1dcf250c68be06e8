package io.rdmaraw.net.netlink;

import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.net.IpAddress;
import io.rdmaraw.net.Neighbor;
import io.rdmaraw.ffi.NetworkOrder;

/**
 * Reads the netlink messages of one datagram, and the attributes of each. Never reads outside the datagram: a message
 * or attribute that claims to be longer ends the reading.
 */
final class NetlinkReader {
    static final int NLMSG_ERROR = 2;
    static final int NLMSG_DONE = 3;
    private static final int ATTRIBUTE_HEADER_BYTES = 4;
    private static final int NLA_TYPE_MASK = 0x3fff;

    private long next;
    private long end;
    private long message;
    private int messageBytes;
    private long attribute;
    private int attributeBytes;
    private long attributesEnd;

    void reset(long address, int lengthBytes) {
        next = address;
        end = address + lengthBytes;
    }

    /** Goes to the next message; returns false behind the last. */
    boolean nextMessage() {
        if (end - next < NetlinkWriter.HEADER_BYTES) {
            return false;
        }
        int lengthBytes = NativeMemory.getInt(next);
        if (lengthBytes < NetlinkWriter.HEADER_BYTES || lengthBytes > end - next) {
            return false;
        }
        message = next;
        messageBytes = lengthBytes;
        next += lengthBytes + 3 & ~3;
        return true;
    }

    int type() {
        return NativeMemory.getShort(message + 4) & 0xffff;
    }

    int sequence() {
        return NativeMemory.getInt(message + 8);
    }

    /** Returns the positive error number of an {@link #NLMSG_ERROR} message; 0 is an acknowledgement. */
    int error() {
        return fixedBytes() < Integer.BYTES ? 0 : -fixedInt(0);
    }

    private int fixedBytes() {
        return messageBytes - NetlinkWriter.HEADER_BYTES;
    }

    /** Returns whether the message has a fixed part of this length; its attributes are then read from behind it. */
    boolean startAttributes(int fixedPartBytes) {
        attribute = 0;
        if (fixedBytes() < fixedPartBytes) {
            return false;
        }
        attributesEnd = message + messageBytes;
        attribute = message + NetlinkWriter.HEADER_BYTES + fixedPartBytes;
        attributeBytes = 0;
        return true;
    }

    int fixedByte(int offset) {
        return NativeMemory.getByte(message + NetlinkWriter.HEADER_BYTES + offset) & 0xff;
    }

    int fixedShort(int offset) {
        return NativeMemory.getShort(message + NetlinkWriter.HEADER_BYTES + offset) & 0xffff;
    }

    int fixedInt(int offset) {
        return NativeMemory.getInt(message + NetlinkWriter.HEADER_BYTES + offset);
    }

    /** Goes to the next attribute; returns false behind the last. */
    boolean nextAttribute() {
        attribute += attributeBytes + 3 & ~3;
        if (attributesEnd - attribute < ATTRIBUTE_HEADER_BYTES) {
            return false;
        }
        attributeBytes = NativeMemory.getShort(attribute) & 0xffff;
        return attributeBytes >= ATTRIBUTE_HEADER_BYTES && attributeBytes <= attributesEnd - attribute;
    }

    int attributeType() {
        return NativeMemory.getShort(attribute + 2) & NLA_TYPE_MASK;
    }

    int valueBytes() {
        return attributeBytes - ATTRIBUTE_HEADER_BYTES;
    }

    private long value() {
        return attribute + ATTRIBUTE_HEADER_BYTES;
    }

    /** Returns a 32-bit number, or 0 when the attribute is shorter. */
    int intValue() {
        return valueBytes() < Integer.BYTES ? 0 : NativeMemory.getInt(value());
    }

    /** Returns a hash of the attribute's type and value. */
    int valueHash() {
        int hash = attributeType();
        for (int i = 0; i < valueBytes(); i++) {
            hash = hash * 31 + NativeMemory.getByte(value() + i);
        }
        return hash;
    }

    /** Returns a MAC address, or {@link Neighbor#NO_MAC} when the attribute is none. */
    long macValue() {
        return valueBytes() == 6 ? NetworkOrder.getU48(value()) : Neighbor.NO_MAC;
    }

    /** Returns a text that ends with a zero byte. */
    String textValue() {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < valueBytes() && NativeMemory.getByte(value() + i) != 0; i++) {
            text.append((char) NativeMemory.getByte(value() + i));
        }
        return text.toString();
    }

    /** Returns an IP address, or null when the attribute is none. */
    IpAddress addressValue() {
        return addressAt(value(), valueBytes());
    }

    private static IpAddress addressAt(long at, int lengthBytes) {
        return switch (lengthBytes) {
            case Integer.BYTES -> IpAddress.ipv4(NetworkOrder.getInt(at));
            case 2 * Long.BYTES -> new IpAddress(NetworkOrder.getLong(at), NetworkOrder.getLong(at + Long.BYTES));
            default -> null;
        };
    }

    /** Returns the address in a {@code struct rtvia}: a family and the address. */
    IpAddress viaValue() {
        return valueBytes() < Short.BYTES ? null : addressAt(value() + Short.BYTES, valueBytes() - Short.BYTES);
    }

    /** Returns a reader of the attributes inside this attribute, behind a fixed part of so many bytes. */
    NetlinkReader nested(int offset, int lengthBytes) {
        NetlinkReader nested = new NetlinkReader();
        nested.attribute = value() + offset;
        nested.attributesEnd = nested.attribute + Math.max(0, Math.min(lengthBytes, valueBytes() - offset));
        return nested;
    }

    /** Returns a 16-bit number inside the attribute's value. */
    int shortAt(int offset) {
        return offset + Short.BYTES > valueBytes() ? 0 : NativeMemory.getShort(value() + offset) & 0xffff;
    }

    /** Returns a 32-bit number inside the attribute's value. */
    int intAt(int offset) {
        return offset + Integer.BYTES > valueBytes() ? 0 : NativeMemory.getInt(value() + offset);
    }
}
