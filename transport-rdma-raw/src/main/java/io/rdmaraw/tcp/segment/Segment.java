package io.rdmaraw.tcp.segment;

import io.netty.buffer.ByteBuf;
import io.rdmaraw.wire.TcpOptions;
import java.util.Arrays;

/**
 * A TCP segment: its addresses, header fields, parsed options, and references to its payload. Segments are
 * mutable and reused; a loop has one for input and one for output. Not thread-safe.
 *
 * <p><b>Input.</b> Call {@link #clear()}, set the header fields and {@link #payload(ByteBuf, int, int)}, and pass
 * the segment to {@code TcpEngine.onSegment}. The caller keeps its reference to the payload; the engine retains
 * buffers that it needs longer.
 *
 * <p><b>Output.</b> {@code TcpEngine.pollSegment} fills the segment. The connection owns the payload until the
 * peer has acknowledged it; the segment only borrows the slices. They are valid until the next call of the engine
 * or of one of its connections, except calls that limit the MTU. A caller that has copied the bytes by then calls
 * {@link #releasePayload()}. If the device reads the bytes later, the caller calls {@link #retainPayload()} and
 * {@link #detachPayload()}, and releases each buffer when the device reports completion. A buffer therefore lives
 * until it is acknowledged and all its transmissions are complete.
 */
public final class Segment extends SegmentPayload {
    /** Maximum number of payload slices. */
    public static final int MAX_SLICES = 16;
    /** Maximum number of SACK blocks that fit into a TCP header. */
    public static final int MAX_SACK_BLOCKS = 4;
    /**
     * Value of {@link #windowScale}, {@link #fastOpenCookieLengthBytes} and {@link #accEcnCounters} if the option is
     * absent.
     */
    public static final int ABSENT = -1;
    private static final int ACC_ECN_COUNTER_MASK = 0xFF_FFFF;
    /** Default TTL or hop limit (RFC 1700, as Linux). */
    public static final int DEFAULT_HOP_LIMIT = 64;

    /** ECN codepoints of the IP header (RFC 3168 section 5). */
    public static final int ECN_NOT_ECT = 0;
    public static final int ECN_ECT1 = 1;
    public static final int ECN_ECT0 = 2;
    public static final int ECN_CE = 3;

    public long sourceHigh;
    public long sourceLow;
    public long destinationHigh;
    public long destinationLow;
    public int sourcePort;
    public int destinationPort;

    public int seq;
    /** Valid if the ACK flag is set. */
    public int ack;
    /** Bits of {@link TcpFlags}. */
    public int flags;
    /** Window field as on the wire, 0 to 65535, not scaled. */
    public int window;
    public int urgentPointer;
    /** ECN codepoint of the IP header. */
    public int ecn;
    /** DSCP of the IP header, 0 to 63. */
    public int dscp;
    /** TTL or hop limit of an output segment, 1 to 255. */
    public int hopLimit = DEFAULT_HOP_LIMIT;
    /** IPv6 flow label of an output segment, 0 to 2^20 - 1. */
    public int flowLabel;

    /** MSS option, 1 to 65535; 0 if absent. */
    public int mss;
    /** Shift count as on the wire, or {@link #ABSENT}. */
    public int windowScale = ABSENT;
    public boolean sackPermitted;
    /** Whether the timestamps option is present. */
    public boolean timestamps;
    public int tsValue;
    public int tsEcho;
    /** Length of the Fast Open cookie (RFC 7413), 0 for a cookie request, or {@link #ABSENT}. */
    public int fastOpenCookieLengthBytes = ABSENT;
    /** First eight bytes of the Fast Open cookie in big-endian order, padded with zeros. */
    public long fastOpenCookieHigh;
    /** Remaining bytes of the Fast Open cookie, in the same form. */
    public long fastOpenCookieLow;
    /** Counters in the AccECN option (RFC 9768): {@code TcpOptions.ACC_ECN_*} bits, or {@link #ABSENT}. */
    public int accEcnCounters = ABSENT;
    /** Counters of the AccECN option, in bytes modulo 2^24. */
    public int accEcnEct1Bytes;
    public int accEcnCeBytes;
    public int accEcnEct0Bytes;
    /** Number of SACK blocks, 0 to {@link #MAX_SACK_BLOCKS}. */
    public int sackCount;
    public final int[] sack = new int[2 * MAX_SACK_BLOCKS];

    /** Source MAC address of the peer's last segment; 0 if unknown. The core only passes it on. */
    public long peerMac;
    /** Frames that hold an input segment, slice by slice. The core only passes them on to its events. */
    public Object frames;
    /** SO_MARK of the connection or listener that sends an output segment, for route lookup; 0: none. */
    public int soMark;
    public SegmentOwner connection;
    /** Attachment of a connection that has ended and sends its final segment; otherwise null. */
    public Object connectionAttachment;

    /** Resets all fields. Payload references are dropped, not released. */
    public Segment clear() {
        sourceHigh = 0;
        sourceLow = 0;
        destinationHigh = 0;
        destinationLow = 0;
        sourcePort = 0;
        destinationPort = 0;
        seq = 0;
        ack = 0;
        flags = 0;
        window = 0;
        urgentPointer = 0;
        ecn = 0;
        dscp = 0;
        hopLimit = DEFAULT_HOP_LIMIT;
        flowLabel = 0;
        soMark = 0;
        peerMac = 0;
        frames = null;
        connection = null;
        connectionAttachment = null;
        clearOptions();
        clearPayload();
        return this;
    }

    void clearOptions() {
        mss = 0;
        windowScale = ABSENT;
        sackPermitted = false;
        timestamps = false;
        tsValue = 0;
        tsEcho = 0;
        fastOpenCookieLengthBytes = ABSENT;
        accEcnCounters = ABSENT;
        sackCount = 0;
    }

    /** Sets the source: both halves of its address, and its port, 0 to 65535. */
    public Segment source(long high, long low, int port) {
        sourceHigh = high;
        sourceLow = low;
        sourcePort = port;
        return this;
    }

    /** Sets the destination: both halves of its address, and its port, 0 to 65535. */
    public Segment destination(long high, long low, int port) {
        destinationHigh = high;
        destinationLow = low;
        destinationPort = port;
        return this;
    }

    // ---- header ----

    public Segment seq(int value) {
        seq = value;
        return this;
    }

    public Segment ack(int value) {
        ack = value;
        return this;
    }

    public Segment flags(int value) {
        flags = value;
        return this;
    }

    public boolean has(int flag) {
        return (flags & flag) != 0;
    }

    public Segment window(int value) {
        window = value;
        return this;
    }

    public Segment urgentPointer(int value) {
        urgentPointer = value;
        return this;
    }

    public Segment ecn(int codepoint) {
        ecn = codepoint;
        return this;
    }

    public Segment dscp(int codepoint) {
        dscp = codepoint;
        return this;
    }

    // ---- options ----

    public Segment mss(int value) {
        mss = value;
        return this;
    }

    public Segment windowScale(int shift) {
        windowScale = shift;
        return this;
    }

    public Segment sackPermitted(boolean present) {
        sackPermitted = present;
        return this;
    }

    /** Adds the timestamps option. */
    public Segment timestamps(int value, int echo) {
        timestamps = true;
        tsValue = value;
        tsEcho = echo;
        return this;
    }

    /** Sets a Fast Open cookie of 4 to 16 bytes; a length of 0 requests a cookie. */
    public Segment fastOpenCookie(int lengthBytes, long high, long low) {
        fastOpenCookieLengthBytes = lengthBytes;
        fastOpenCookieHigh = high;
        fastOpenCookieLow = low;
        return this;
    }

    /**
     * Sets the AccECN option. Only the counters named by {@code counters} are sent. They must be a prefix of ECT(1),
     * CE, ECT(0) or of ECT(0), CE, ECT(1).
     */
    public Segment accEcn(int counters, int ect1Bytes, int ceBytes, int ect0Bytes) {
        accEcnCounters = counters;
        accEcnEct1Bytes = ect1Bytes & ACC_ECN_COUNTER_MASK;
        accEcnCeBytes = ceBytes & ACC_ECN_COUNTER_MASK;
        accEcnEct0Bytes = ect0Bytes & ACC_ECN_COUNTER_MASK;
        return this;
    }

    /** Returns the first sequence number of SACK block {@code i}. */
    public int sackStart(int i) {
        return sack[2 * i];
    }

    /** Returns the sequence number after SACK block {@code i}. */
    public int sackEnd(int i) {
        return sack[2 * i + 1];
    }

    /** Adds a SACK block. Ignored if there are {@link #MAX_SACK_BLOCKS} already. */
    public Segment addSack(int start, int end) {
        if (sackCount < MAX_SACK_BLOCKS) {
            sack[2 * sackCount] = start;
            sack[2 * sackCount + 1] = end;
            sackCount++;
        }
        return this;
    }

    /** Returns the length of the options including padding, 0 to 40 bytes, in the layout that Linux uses. */
    public int optionsLengthBytes() {
        int length = 0;
        length += mss != 0 ? 4 : 0;
        length += windowScale != ABSENT ? 4 : 0;
        if (timestamps) {
            length += 12;
        } else if (sackPermitted) {
            length += 4;
        }
        length += sackCount > 0 ? 4 + 8 * sackCount : 0;
        length += fastOpenCookieLengthBytes != ABSENT ? 2 + fastOpenCookieLengthBytes + 3 & ~3 : 0;
        if (accEcnCounters != ABSENT) {
            length += 2 + TcpOptions.ACC_ECN_COUNTER_BYTES * Integer.bitCount(accEcnCounters) + 3 & ~3;
        }
        return length;
    }

    // ---- payload; see SegmentPayload ----

    /** Sets a payload of one slice without changing its reference count. A length of 0 sets no payload. */
    public Segment payload(ByteBuf buffer, int index, int length) {
        clearPayload();
        if (length > 0) {
            addSlice(buffer, index, length);
        }
        return this;
    }

    /**
     * Reduces a segment for segmentation offload to its first piece, as it would be on the wire, and releases the
     * rest. To the peer, the other pieces are lost.
     */
    public void truncateToFirstSegment() {
        if (segmentSizeBytes > 0) {
            truncate(segmentSizeBytes);
            flags &= ~(TcpFlags.PSH | TcpFlags.FIN);
        }
    }

    /** Copies everything except the payload. */
    public void copyHeader(Segment other) {
        clearPayload();
        source(other.sourceHigh, other.sourceLow, other.sourcePort);
        destination(other.destinationHigh, other.destinationLow, other.destinationPort);
        seq = other.seq;
        ack = other.ack;
        flags = other.flags;
        window = other.window;
        urgentPointer = other.urgentPointer;
        ecn = other.ecn;
        dscp = other.dscp;
        hopLimit = other.hopLimit;
        flowLabel = other.flowLabel;
        mss = other.mss;
        windowScale = other.windowScale;
        sackPermitted = other.sackPermitted;
        timestamps = other.timestamps;
        tsValue = other.tsValue;
        tsEcho = other.tsEcho;
        fastOpenCookieLengthBytes = other.fastOpenCookieLengthBytes;
        fastOpenCookieHigh = other.fastOpenCookieHigh;
        fastOpenCookieLow = other.fastOpenCookieLow;
        accEcn(other.accEcnCounters, other.accEcnEct1Bytes, other.accEcnCeBytes, other.accEcnEct0Bytes);
        sackCount = other.sackCount;
        System.arraycopy(other.sack, 0, sack, 0, sack.length);
        soMark = other.soMark;
        peerMac = other.peerMac;
        connection = other.connection;
        connectionAttachment = other.connectionAttachment;
    }

    /** Returns the sequence space that the segment occupies: payload, SYN and FIN. */
    public int sequenceLength() {
        return payloadLength + (flags >>> 1 & 1) + (flags & 1);
    }

    /** Returns the connection that an output segment belongs to; null for replies without a connection. */
    public SegmentOwner connection() {
        return connection;
    }

    /**
     * Returns the {@link SegmentOwner#attachment()} of the connection that an output segment belongs to, even if
     * the connection has ended; null for replies without a connection.
     */
    public Object attachment() {
        return connection != null ? connection.attachment() : connectionAttachment;
    }

    @Override
    public String toString() {
        StringBuilder text = new StringBuilder(96);
        text.append(sourcePort).append('>').append(destinationPort).append(' ').append(TcpFlags.toString(flags))
                .append(" seq ").append(Integer.toUnsignedString(seq));
        if (has(TcpFlags.ACK)) {
            text.append(" ack ").append(Integer.toUnsignedString(ack));
        }
        text.append(" win ").append(window).append(" len ").append(payloadLength);
        if (mss != 0) {
            text.append(" mss ").append(mss);
        }
        if (windowScale != ABSENT) {
            text.append(" wscale ").append(windowScale);
        }
        if (sackPermitted) {
            text.append(" sackOK");
        }
        if (fastOpenCookieLengthBytes != ABSENT) {
            text.append(" cookie ").append(fastOpenCookieLengthBytes).append('/').append(fastOpenCookieHigh).append('/')
                    .append(fastOpenCookieLow);
        }
        if (timestamps) {
            text.append(" ts ").append(Integer.toUnsignedString(tsValue)).append('/')
                    .append(Integer.toUnsignedString(tsEcho));
        }
        if (accEcnCounters != ABSENT) {
            text.append(" accecn ").append(accEcnCounters).append(' ').append(accEcnEct1Bytes).append('/')
                    .append(accEcnCeBytes).append('/').append(accEcnEct0Bytes);
        }
        if (sackCount > 0) {
            text.append(" sack ").append(Arrays.toString(Arrays.copyOf(sack, 2 * sackCount)));
        }
        return text.append(ecn != 0 ? " ecn " + ecn : "").toString();
    }
}
