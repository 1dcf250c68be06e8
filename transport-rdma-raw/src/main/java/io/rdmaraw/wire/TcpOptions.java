package io.rdmaraw.wire;

import io.rdmaraw.ffi.NetworkOrder;

/**
 * The options of a TCP segment. An object is reused for many segments.
 *
 * <p>Unknown options are ignored. An option with an invalid length ends the parsing: the options before it are
 * valid, {@link #parse} returns false, and the caller decides whether to use the segment.
 */
public final class TcpOptions {
    /** Kind: end of list. */
    public static final int KIND_END = 0;
    /** Kind: no operation. */
    public static final int KIND_NOP = 1;
    /** Kind: maximum segment size (RFC 9293 section 3.2). */
    public static final int KIND_MSS = 2;
    /** Kind: window scale (RFC 7323 section 2). */
    public static final int KIND_WINDOW_SCALE = 3;
    /** Kind: SACK permitted (RFC 2018 section 2). */
    public static final int KIND_SACK_PERMITTED = 4;
    /** Kind: SACK (RFC 2018 section 3). */
    public static final int KIND_SACK = 5;
    /** Kind: timestamps (RFC 7323 section 3). */
    public static final int KIND_TIMESTAMPS = 8;
    /** Kind: Fast Open cookie (RFC 7413 section 4.1.1). */
    public static final int KIND_FAST_OPEN = 34;
    /** Kind: AccECN option with the counters in the order ECT(0), CE, ECT(1) (RFC 9768 section 3.2.3). */
    public static final int KIND_ACC_ECN_0 = 172;
    /** Kind: AccECN option with the counters in the order ECT(1), CE, ECT(0). */
    public static final int KIND_ACC_ECN_1 = 174;
    /** Bits of {@link #accEcnCounters()}: the counters that an AccECN option contains. */
    public static final int ACC_ECN_ECT1 = 1;
    public static final int ACC_ECN_CE = 2;
    public static final int ACC_ECN_ECT0 = 4;
    /** Length of a counter in an AccECN option. */
    public static final int ACC_ECN_COUNTER_BYTES = 3;
    private static final int ACC_ECN_COUNTERS = 3;
    /** Maximum number of SACK blocks that fit into 40 bytes of options. */
    public static final int MAX_SACK_BLOCKS = 4;
    /**
     * Value of {@link #maximumSegmentSize()}, {@link #windowScale()}, {@link #fastOpenCookieLengthBytes()} and
     * {@link #accEcnCounters()} if the option is absent.
     */
    public static final int ABSENT = -1;
    /** Larger shift counts are reduced to this one (RFC 7323 section 2.3). */
    private static final int MAX_WINDOW_SCALE = 14;
    /**
     * NOP, NOP, timestamps, length 10: nearly all segments of established connections start their options with
     * this word.
     */
    private static final int ALIGNED_TIMESTAMPS = 0x0101_080a;

    private int maximumSegmentSize;
    private int windowScale;
    private boolean sackPermitted;
    private boolean timestamps;
    private int timestampValue;
    private int timestampEcho;
    private int fastOpenOffset;
    private int fastOpenLengthBytes;
    private int accEcnCounters;
    private int accEcnEct1Bytes;
    private int accEcnCeBytes;
    private int accEcnEct0Bytes;
    private int sackBlockCount;
    private final int[] sackEdges = new int[2 * MAX_SACK_BLOCKS];

    /** Creates an object without options. */
    public TcpOptions() {
        clear();
    }

    /** Removes all options. */
    public void clear() {
        maximumSegmentSize = ABSENT;
        windowScale = ABSENT;
        sackPermitted = false;
        timestamps = false;
        timestampValue = 0;
        timestampEcho = 0;
        fastOpenOffset = 0;
        fastOpenLengthBytes = ABSENT;
        accEcnCounters = ABSENT;
        accEcnEct1Bytes = 0;
        accEcnCeBytes = 0;
        accEcnEct0Bytes = 0;
        sackBlockCount = 0;
    }

    /** Parses the options of a TCP segment. */
    public boolean parse(ParsedFrame frame) {
        return parse(frame.transportHeaderAddress() + TcpHeader.MIN_LENGTH_BYTES,
                frame.transportHeaderLengthBytes() - TcpHeader.MIN_LENGTH_BYTES);
    }

    /**
     * Parses exactly {@code lengthBytes} bytes of options.
     *
     * @return whether all options are well-formed
     */
    public boolean parse(long address, int lengthBytes) {
        clear();
        if (lengthBytes == 12 && NetworkOrder.getInt(address) == ALIGNED_TIMESTAMPS) {
            readTimestamps(address + 2);
            return true;
        }
        int offset = 0;
        while (offset < lengthBytes) {
            int kind = NetworkOrder.getU8(address + offset);
            if (kind == KIND_END) {
                return true;
            }
            if (kind == KIND_NOP) {
                offset++;
                continue;
            }
            int optionBytes = offset + 1 < lengthBytes ? NetworkOrder.getU8(address + offset + 1) : 0;
            if (optionBytes < 2 || optionBytes > lengthBytes - offset) {
                return false;
            }
            read(address, offset, kind, optionBytes);
            offset += optionBytes;
        }
        return true;
    }

    /** Reads one option. An option with a wrong length for its kind is ignored. */
    private void read(long address, int offset, int kind, int optionBytes) {
        long option = address + offset;
        switch (kind) {
            case KIND_MSS -> {
                if (optionBytes == 4) {
                    maximumSegmentSize = NetworkOrder.getU16(option + 2);
                }
            }
            case KIND_WINDOW_SCALE -> {
                if (optionBytes == 3) {
                    windowScale = Math.min(NetworkOrder.getU8(option + 2), MAX_WINDOW_SCALE);
                }
            }
            case KIND_SACK_PERMITTED -> sackPermitted |= optionBytes == 2;
            case KIND_TIMESTAMPS -> {
                if (optionBytes == 10) {
                    readTimestamps(option);
                }
            }
            case KIND_SACK -> readSack(option, optionBytes);
            case KIND_FAST_OPEN -> {
                fastOpenOffset = offset + 2;
                fastOpenLengthBytes = optionBytes - 2;
            }
            case KIND_ACC_ECN_0, KIND_ACC_ECN_1 -> readAccEcn(option, kind == KIND_ACC_ECN_1, optionBytes);
            default -> {
                // RFC 9293 section 3.1: unknown options are ignored.
            }
        }
    }

    private void readTimestamps(long option) {
        timestamps = true;
        timestampValue = NetworkOrder.getInt(option + 2);
        timestampEcho = NetworkOrder.getInt(option + 6);
    }

    private void readSack(long option, int optionBytes) {
        if (optionBytes < 10 || (optionBytes - 2 & 7) != 0) {
            return;
        }
        sackBlockCount = Math.min(optionBytes - 2 >> 3, MAX_SACK_BLOCKS);
        for (int i = 0; i < 2 * sackBlockCount; i++) {
            sackEdges[i] = NetworkOrder.getInt(option + 2 + 4L * i);
        }
    }

    /** Reads the complete counters. Remaining bytes are padding. */
    private void readAccEcn(long option, boolean ect1First, int optionBytes) {
        int count = Math.min((optionBytes - 2) / ACC_ECN_COUNTER_BYTES, ACC_ECN_COUNTERS);
        accEcnCounters = 0;
        for (int i = 0; i < count; i++) {
            long counter = option + 2 + (long) i * ACC_ECN_COUNTER_BYTES;
            int bytes = NetworkOrder.getU8(counter) << 16 | NetworkOrder.getU16(counter + 1);
            if (i == 1) {
                accEcnCounters |= ACC_ECN_CE;
                accEcnCeBytes = bytes;
            } else if (i == 0 == ect1First) {
                accEcnCounters |= ACC_ECN_ECT1;
                accEcnEct1Bytes = bytes;
            } else {
                accEcnCounters |= ACC_ECN_ECT0;
                accEcnEct0Bytes = bytes;
            }
        }
    }

    /** Returns the maximum segment size, or {@link #ABSENT}. */
    public int maximumSegmentSize() {
        return maximumSegmentSize;
    }

    /** Returns the shift count, 0 to 14, or {@link #ABSENT}. */
    public int windowScale() {
        return windowScale;
    }

    /** Returns whether the sender supports SACK. */
    public boolean isSackPermitted() {
        return sackPermitted;
    }

    /** Returns whether the timestamps option is present. */
    public boolean hasTimestamps() {
        return timestamps;
    }

    /** Returns the sender's timestamp. */
    public int timestampValue() {
        return timestampValue;
    }

    /** Returns the timestamp echoed by the sender. */
    public int timestampEcho() {
        return timestampEcho;
    }

    /** Returns the number of SACK blocks, 0 to 4. */
    public int sackBlockCount() {
        return sackBlockCount;
    }

    /** Returns the first sequence number of a block. */
    public int sackStart(int block) {
        return sackEdges[2 * block];
    }

    /** Returns the sequence number after the last one of a block. */
    public int sackEnd(int block) {
        return sackEdges[2 * block + 1];
    }

    /** Returns the length of the Fast Open cookie, 0 for a cookie request, or {@link #ABSENT}. */
    public int fastOpenCookieLengthBytes() {
        return fastOpenLengthBytes;
    }

    /** Returns the offset of the Fast Open cookie from the start of the options. */
    public int fastOpenCookieOffset() {
        return fastOpenOffset;
    }

    /** Returns the counters of the AccECN option: {@code ACC_ECN_*} bits, 0 if it is empty, or {@link #ABSENT}. */
    public int accEcnCounters() {
        return accEcnCounters;
    }

    /** Returns the sender's count of bytes received with ECT(1), modulo 2^24. */
    public int accEcnEct1Bytes() {
        return accEcnEct1Bytes;
    }

    /** Returns the sender's count of bytes received with CE, modulo 2^24. */
    public int accEcnCeBytes() {
        return accEcnCeBytes;
    }

    /** Returns the sender's count of bytes received with ECT(0), modulo 2^24. */
    public int accEcnEct0Bytes() {
        return accEcnEct0Bytes;
    }
}
