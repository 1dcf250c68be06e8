package io.rdmaraw.netlink;

import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.ffi.NetworkOrder;

/**
 * Reads the netlink messages in a datagram, and the attributes of each message. Never reads beyond the
 * datagram: a message or attribute with an invalid length ends the iteration.
 */
public final class NetlinkReader {
    public static final int NLMSG_ERROR = 2;
    public static final int NLMSG_DONE = 3;
    private static final int ATTRIBUTE_HEADER_BYTES = 4;
    private static final int NLA_TYPE_MASK = 0x3fff;

    private long next;
    private long end;
    private long message;
    private int messageBytes;
    private long attribute;
    private int attributeBytes;
    private long attributesEnd;

    public void reset(long address, int lengthBytes) {
        next = address;
        end = address + lengthBytes;
    }

    /** Moves to the next message. Returns false after the last one. */
    public boolean nextMessage() {
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

    public int type() {
        return NativeMemory.getShort(message + 4) & 0xffff;
    }

    /** Returns the {@code NLM_F_} flags. */
    public int flags() {
        return NativeMemory.getShort(message + 6) & 0xffff;
    }

    public int sequence() {
        return NativeMemory.getInt(message + 8);
    }

    /** Returns the positive error number of an {@link #NLMSG_ERROR} message; 0 is an acknowledgement. */
    public int errno() {
        return fixedBytes() < Integer.BYTES ? 0 : -fixedInt(0);
    }

    private int fixedBytes() {
        return messageBytes - NetlinkWriter.HEADER_BYTES;
    }

    /**
     * Starts the iteration over the attributes after a fixed part. Returns false if the message is shorter than
     * the fixed part.
     */
    public boolean startAttributes(int fixedPartBytes) {
        attribute = 0;
        if (fixedBytes() < fixedPartBytes) {
            return false;
        }
        attributesEnd = message + messageBytes;
        attribute = message + NetlinkWriter.HEADER_BYTES + fixedPartBytes;
        attributeBytes = 0;
        return true;
    }

    public int fixedByte(int offset) {
        return NativeMemory.getByte(message + NetlinkWriter.HEADER_BYTES + offset) & 0xff;
    }

    public int fixedShort(int offset) {
        return NativeMemory.getShort(message + NetlinkWriter.HEADER_BYTES + offset) & 0xffff;
    }

    public int fixedInt(int offset) {
        return NativeMemory.getInt(message + NetlinkWriter.HEADER_BYTES + offset);
    }

    /** Moves to the next attribute. Returns false after the last one. */
    public boolean nextAttribute() {
        attribute += attributeBytes + 3 & ~3;
        if (attributesEnd - attribute < ATTRIBUTE_HEADER_BYTES) {
            return false;
        }
        attributeBytes = NativeMemory.getShort(attribute) & 0xffff;
        return attributeBytes >= ATTRIBUTE_HEADER_BYTES && attributeBytes <= attributesEnd - attribute;
    }

    public int attributeType() {
        return NativeMemory.getShort(attribute + 2) & NLA_TYPE_MASK;
    }

    public int valueBytes() {
        return attributeBytes - ATTRIBUTE_HEADER_BYTES;
    }

    private long value() {
        return attribute + ATTRIBUTE_HEADER_BYTES;
    }

    /** Returns the value as a 32-bit number, or 0 if it is shorter. */
    public int intValue() {
        return valueBytes() < Integer.BYTES ? 0 : NativeMemory.getInt(value());
    }

    /** Returns the value as an 8-bit number, or 0 if it is empty. */
    public int byteValue() {
        return valueBytes() == 0 ? 0 : NativeMemory.getByte(value()) & 0xff;
    }

    /** Returns a hash of the attribute's type and value. */
    public int valueHash() {
        int hash = attributeType();
        for (int i = 0; i < valueBytes(); i++) {
            hash = hash * 31 + NativeMemory.getByte(value() + i);
        }
        return hash;
    }

    /** Returns the value as a MAC address, or {@code other} if it has another length. */
    public long macOr(long other) {
        return valueBytes() == 6 ? NetworkOrder.getU48(value()) : other;
    }

    /** Returns the value as text, up to a zero byte. */
    public String textValue() {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < valueBytes() && NativeMemory.getByte(value() + i) != 0; i++) {
            text.append((char) NativeMemory.getByte(value() + i));
        }
        return text.toString();
    }

    /** Returns a reader of nested attributes, which begin at an offset in the value. */
    public NetlinkReader nested(int offset, int lengthBytes) {
        NetlinkReader nested = new NetlinkReader();
        nested.attribute = value() + offset;
        nested.attributesEnd = nested.attribute + Math.max(0, Math.min(lengthBytes, valueBytes() - offset));
        return nested;
    }

    /** Returns a 16-bit number at an offset in the value, or 0 if the value is too short. */
    public int shortAt(int offset) {
        return offset + Short.BYTES > valueBytes() ? 0 : NativeMemory.getShort(value() + offset) & 0xffff;
    }

    /** Returns a 32-bit number at an offset in the value, or 0 if the value is too short. */
    public int intAt(int offset) {
        return offset + Integer.BYTES > valueBytes() ? 0 : NativeMemory.getInt(value() + offset);
    }

    /** Returns a 32-bit number in network byte order at an offset in the value, which must be long enough. */
    public int networkIntAt(int offset) {
        return NetworkOrder.getInt(value() + offset);
    }

    /** Returns a 64-bit number in network byte order at an offset in the value, which must be long enough. */
    public long networkLongAt(int offset) {
        return NetworkOrder.getLong(value() + offset);
    }
}
