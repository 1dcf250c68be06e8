package io.rdmaraw.wire;

import io.rdmaraw.ffi.NetworkOrder;

/**
 * The options of one TCP segment. One object is used again for segment after segment.
 *
 * <p>Unknown options are passed over. An option with an impossible length ends the reading: what came before counts,
 * {@link #parse} returns false, and the caller decides whether to use the segment.
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
    /** Kind: fast open cookie (RFC 7413 section 4.1.1). */
    public static final int KIND_FAST_OPEN = 34;
    /** Most SACK blocks that fit into the 40 bytes of options. */
    public static final int MAXIMUM_SACK_BLOCKS = 4;
    /** Value of {@link #maximumSegmentSize()} and {@link #windowScale()} when the option is not there. */
    public static final int ABSENT = -1;
    /** RFC 7323 section 2.3: a larger shift counts as this one. */
    private static final int MAXIMUM_WINDOW_SCALE = 14;
    /** NOP, NOP, timestamps, 10: how nearly every segment of an established connection begins its options. */
    private static final int ALIGNED_TIMESTAMPS = 0x0101_080a;

    private int maximumSegmentSize;
    private int windowScale;
    private boolean sackPermitted;
    private boolean timestamps;
    private int timestampValue;
    private int timestampEcho;
    private int fastOpenOffset;
    private int fastOpenLengthBytes;
    private int sackBlockCount;
    private final int[] sackEdges = new int[2 * MAXIMUM_SACK_BLOCKS];

    /** Makes an object without options. */
    public TcpOptions() {
        clear();
    }

    /** Forgets all options. */
    public void clear() {
        maximumSegmentSize = ABSENT;
        windowScale = ABSENT;
        sackPermitted = false;
        timestamps = false;
        timestampValue = 0;
        timestampEcho = 0;
        fastOpenOffset = 0;
        fastOpenLengthBytes = ABSENT;
        sackBlockCount = 0;
    }

    /** Reads the options of the parsed TCP segment. */
    public boolean parse(ParsedFrame frame) {
        return parse(frame.transportAddress() + TcpHeader.MINIMUM_LENGTH_BYTES,
                frame.transportHeaderLengthBytes() - TcpHeader.MINIMUM_LENGTH_BYTES);
    }

    /**
     * Reads exactly {@code lengthBytes} bytes of options.
     *
     * @return whether every option was well formed
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

    /** Takes over one option; one of the wrong length for its kind counts as not there. */
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
                    windowScale = Math.min(NetworkOrder.getU8(option + 2), MAXIMUM_WINDOW_SCALE);
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
            default -> {
                // RFC 9293 section 3.1: unknown options are passed over.
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
        sackBlockCount = Math.min(optionBytes - 2 >> 3, MAXIMUM_SACK_BLOCKS);
        for (int i = 0; i < 2 * sackBlockCount; i++) {
            sackEdges[i] = NetworkOrder.getInt(option + 2 + 4L * i);
        }
    }

    /** Returns the maximum segment size or {@link #ABSENT}. */
    public int maximumSegmentSize() {
        return maximumSegmentSize;
    }

    /** Returns the window shift, 0..14, or {@link #ABSENT}. */
    public int windowScale() {
        return windowScale;
    }

    /** Returns whether the sender takes SACK. */
    public boolean isSackPermitted() {
        return sackPermitted;
    }

    /** Returns whether there are timestamps. */
    public boolean hasTimestamps() {
        return timestamps;
    }

    /** Returns the sender's timestamp. */
    public int timestampValue() {
        return timestampValue;
    }

    /** Returns the timestamp that the sender echoes. */
    public int timestampEcho() {
        return timestampEcho;
    }

    /** Returns the number of SACK blocks, 0..4. */
    public int sackBlockCount() {
        return sackBlockCount;
    }

    /** Returns the first sequence number of a block. */
    public int sackLeft(int block) {
        return sackEdges[2 * block];
    }

    /** Returns the sequence number behind the last one of a block. */
    public int sackRight(int block) {
        return sackEdges[2 * block + 1];
    }

    /** Returns the length of the fast open cookie, 0 for a request, or {@link #ABSENT}. */
    public int fastOpenCookieLengthBytes() {
        return fastOpenLengthBytes;
    }

    /** Returns where the fast open cookie begins, counted from where the options begin. */
    public int fastOpenCookieOffset() {
        return fastOpenOffset;
    }
}
