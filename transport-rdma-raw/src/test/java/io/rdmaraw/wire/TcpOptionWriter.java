package io.rdmaraw.wire;

import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.ffi.NetworkOrder;

/** Writes TCP options. Each method returns the address after the written bytes. */
public final class TcpOptionWriter {
    private TcpOptionWriter() {
    }

    /** Writes the maximum segment size: 4 bytes. */
    public static long maximumSegmentSize(long address, int mss) {
        NetworkOrder.putInt(address, TcpOptions.KIND_MSS << 24 | 4 << 16 | (mss & 0xffff));
        return address + 4;
    }

    /** Writes a NOP and the window scale: 4 bytes. */
    public static long windowScale(long address, int shift) {
        NetworkOrder.putInt(address, TcpOptions.KIND_NOP << 24 | TcpOptions.KIND_WINDOW_SCALE << 16 | 3 << 8 | shift);
        return address + 4;
    }

    /** Writes two NOPs and SACK permitted: 4 bytes. */
    public static long sackPermitted(long address) {
        NetworkOrder.putInt(address, 0x0101_0000 | TcpOptions.KIND_SACK_PERMITTED << 8 | 2);
        return address + 4;
    }

    /** Writes SACK permitted instead of the two NOPs before the timestamps, as Linux does in a SYN: 12 bytes. */
    public static long sackPermittedAndTimestamps(long address, int value, int echo) {
        NetworkOrder.putInt(address, 0x0402_080a);
        return timestampBody(address, value, echo);
    }

    /** Writes two NOPs and the timestamps: 12 bytes. */
    public static long timestamps(long address, int value, int echo) {
        NetworkOrder.putInt(address, 0x0101_080a);
        return timestampBody(address, value, echo);
    }

    private static long timestampBody(long address, int value, int echo) {
        NetworkOrder.putInt(address + 4, value);
        NetworkOrder.putInt(address + 8, echo);
        return address + 12;
    }

    /**
     * Writes two NOPs and the head of a SACK option for 1 to 4 blocks: 4 bytes. Call {@link #sackBlock} for each
     * block.
     */
    public static long sackHead(long address, int blockCount) {
        NetworkOrder.putInt(address, 0x0101_0000 | TcpOptions.KIND_SACK << 8 | 2 + 8 * blockCount);
        return address + 4;
    }

    /** Writes one SACK block: 8 bytes. */
    public static long sackBlock(long address, int left, int right) {
        NetworkOrder.putInt(address, left);
        NetworkOrder.putInt(address + 4, right);
        return address + 8;
    }

    /** Writes END bytes from {@code address} until the distance from {@code optionsAddress} is a multiple of four. */
    public static long pad(long optionsAddress, long address) {
        long position = address;
        while ((position - optionsAddress & 3) != 0) {
            NativeMemory.putByte(position++, (byte) TcpOptions.KIND_END);
        }
        return position;
    }
}
