package io.rdmaraw.tcp.segment;

import io.netty.buffer.ByteBuf;
import java.util.Arrays;

/**
 * One TCP segment with its addresses, its options parsed and its payload by reference. Mutable and made to be reused:
 * a loop has one for input and one for output. Not thread-safe.
 *
 * <p><b>Input.</b> {@link #clear()}, set the header fields and {@link #payload(ByteBuf, int, int)}, call
 * {@code TcpEngine.onSegment}. The reference to the payload stays the caller's; the engine retains what it keeps.
 *
 * <p><b>Output.</b> {@code TcpEngine.pollSegment} fills it. The connection owns the payload until the peer has
 * acknowledged it, and the slices are borrowed from there: they are good until the engine or one of its connections is
 * called next, other than for the MTU of a path. A caller that has copied the bytes by then calls
 * {@link #transmitted()}. One whose device reads them later calls
 * {@link #retainPayload()}, then {@link #detachPayload()}, and releases each buffer when the device reports completion;
 * so a buffer lives until it is acknowledged and all its transmissions are complete.
 */
public final class Segment extends SegmentPayload {
    /** The most slices an output segment carries. */
    public static final int MAX_SLICES = 16;
    /** The most SACK blocks that fit into a TCP header. */
    public static final int MAX_SACK_BLOCKS = 4;
    /** The value of {@link #windowScale} when the option is absent. */
    public static final int ABSENT = -1;
    /** Of a host that is told none (RFC 1700, as Linux). */
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
    /** Meaningful if the ACK flag is set. */
    public int ack;
    /** The {@link TcpFlags}. */
    public int flags;
    /** The window field as on the wire, 0 to 65535, not scaled. */
    public int window;
    public int urgentPointer;
    /** The ECN codepoint of the IP header. */
    public int ecn;
    /** The differentiated services codepoint of the IP header, 0 to 63. */
    public int dscp;
    /** The time to live or hop limit of the IP header, 1 to 255; of segments that are sent. */
    public int hopLimit = DEFAULT_HOP_LIMIT;
    /** The flow label of IPv6, 0 to 2^20 - 1; of segments that are sent. */
    public int flowLabel;

    /** The MSS option, 1 to 65535; 0 when absent. */
    public int mss;
    /** The shift count as on the wire, or {@link #ABSENT}. */
    public int windowScale = ABSENT;
    public boolean sackPermitted;
    /** Whether the timestamps option is there. */
    public boolean timestamps;
    public int tsValue;
    public int tsEcho;
    /** Length of the fast open cookie (RFC 7413): 0 for a request, or {@link #ABSENT}. */
    public int fastOpenCookieBytes = ABSENT;
    /** The first eight bytes of the fast open cookie, the first byte on top, filled up with zeros. */
    public long fastOpenCookieHigh;
    /** The bytes of the fast open cookie after the first eight, likewise. */
    public long fastOpenCookieLow;
    /** 0 to {@link #MAX_SACK_BLOCKS}. */
    public int sackCount;
    public final int[] sack = new int[2 * MAX_SACK_BLOCKS];

    /** SO_MARK of the connection or listener that an output segment is of, which its way may depend on; 0: none. */
    public int mark;
    public SegmentOwner connection;
    /** Whose last words these are, when the connection itself is over. */
    public Object attachment;

    /** Forgets everything; payload references are dropped, not released. */
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
        mark = 0;
        connection = null;
        attachment = null;
        clearOptions();
        forgetPayload();
        return this;
    }

    void clearOptions() {
        mss = 0;
        windowScale = ABSENT;
        sackPermitted = false;
        timestamps = false;
        tsValue = 0;
        tsEcho = 0;
        fastOpenCookieBytes = ABSENT;
        sackCount = 0;
    }

    /** Sets the sender: the two halves of its address and its port, 0 to 65535. */
    public Segment source(long high, long low, int port) {
        sourceHigh = high;
        sourceLow = low;
        sourcePort = port;
        return this;
    }

    /** Sets the receiver: the two halves of its address and its port, 0 to 65535. */
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

    /** Adds a fast open cookie of 4 to 16 bytes, or, with 0, the request for one. */
    public Segment fastOpenCookie(int lengthBytes, long high, long low) {
        fastOpenCookieBytes = lengthBytes;
        fastOpenCookieHigh = high;
        fastOpenCookieLow = low;
        return this;
    }

    /** First sequence number of SACK block {@code i}. */
    public int sackStart(int i) {
        return sack[2 * i];
    }

    /** Sequence number after SACK block {@code i}. */
    public int sackEnd(int i) {
        return sack[2 * i + 1];
    }

    /** Adds a SACK block; ignored when {@link #MAX_SACK_BLOCKS} are there already. */
    public Segment addSack(int start, int end) {
        if (sackCount < MAX_SACK_BLOCKS) {
            sack[2 * sackCount] = start;
            sack[2 * sackCount + 1] = end;
            sackCount++;
        }
        return this;
    }

    /** Bytes the options take in the header with their padding, 0 to 40, laid out as Linux does. */
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
        length += fastOpenCookieBytes != ABSENT ? 2 + fastOpenCookieBytes + 3 & ~3 : 0;
        return length;
    }

    // ---- payload; see SegmentPayload ----

    /** Sets a payload of one slice, without touching its reference count; an empty one is none. */
    public Segment payload(ByteBuf buffer, int index, int length) {
        forgetPayload();
        if (length > 0) {
            addSlice(buffer, index, length);
        }
        return this;
    }

    /**
     * Keeps, of a segment that was to be cut, the first piece alone, as it would go out; what is behind it is given up.
     * For the peer the others are lost.
     */
    public void keepFirstPiece() {
        if (segmentSize > 0) {
            truncate(segmentSize);
            flags &= ~(TcpFlags.PSH | TcpFlags.FIN);
        }
    }

    /** Takes over everything but the payload. */
    public void copyHeader(Segment other) {
        forgetPayload();
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
        fastOpenCookieBytes = other.fastOpenCookieBytes;
        fastOpenCookieHigh = other.fastOpenCookieHigh;
        fastOpenCookieLow = other.fastOpenCookieLow;
        sackCount = other.sackCount;
        System.arraycopy(other.sack, 0, sack, 0, sack.length);
        mark = other.mark;
        connection = other.connection;
        attachment = other.attachment;
    }

    /** Sequence space it takes: payload, SYN and FIN. */
    public int sequenceLength() {
        return payloadLength + (flags >>> 1 & 1) + (flags & 1);
    }

    /** The connection an output segment belongs to; null for answers that belong to none. */
    public SegmentOwner connection() {
        return connection;
    }

    /**
     * What {@link SegmentOwner#attachment()} is of the connection that an output segment belongs to, or is the last
     * one of; null for answers that belong to none.
     */
    public Object attachment() {
        return connection != null ? connection.attachment() : attachment;
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
        if (fastOpenCookieBytes != ABSENT) {
            text.append(" cookie ").append(fastOpenCookieBytes).append('/').append(fastOpenCookieHigh).append('/')
                    .append(fastOpenCookieLow);
        }
        if (timestamps) {
            text.append(" ts ").append(Integer.toUnsignedString(tsValue)).append('/')
                    .append(Integer.toUnsignedString(tsEcho));
        }
        if (sackCount > 0) {
            text.append(" sack ").append(Arrays.toString(Arrays.copyOf(sack, 2 * sackCount)));
        }
        return text.append(ecn != 0 ? " ecn " + ecn : "").toString();
    }
}
