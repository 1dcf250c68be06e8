package io.rdmaraw.tcp.segment;

import io.rdmaraw.wire.InternetChecksum;
import io.rdmaraw.wire.IpProtocol;
import io.rdmaraw.wire.Ipv4Header;
import io.rdmaraw.wire.Ipv6Header;
import io.rdmaraw.ffi.NetworkOrder;
import io.rdmaraw.wire.ParsedFrame;
import io.rdmaraw.wire.TcpHeader;
import io.rdmaraw.wire.TcpOptions;

/**
 * Converts between a {@link Segment} and the IP and TCP headers of its packet. Header words are assembled in
 * registers, stored as a whole, and added to the checksums from there. Reading bytes back right after smaller
 * stores would stall until the stores complete. Not thread-safe.
 */
public final class TcpHeaderCodec {
    private static final int VERSION_AND_LENGTH = 0x45 << 24;
    private static final long LOW_32 = 0xFFFF_FFFFL;
    private static final int NOP_NOP_TIMESTAMPS = 0x0101_080A;
    private static final int SACK_PERMITTED_TIMESTAMPS = 0x0402_080A;
    private static final int NOP_NOP_SACK_PERMITTED = 0x0101_0402;
    private static final int NOP_NOP = 0x0101;
    private static final int NOP_NOP_NOP = 0x01_0101;
    private static final int TIMESTAMPS_BYTES = 12;
    private static final int ACC_ECN_BASE_BYTES = 2;
    /** Mask of the bits in {@link TcpFlags}. */
    private static final int FLAGS_MASK = 0x1FF;

    private final TcpOptions options = new TcpOptions();

    /** Returns the length of the IP and TCP headers including options. */
    public static int headersLengthBytes(Segment s) {
        return ipBytes(s) + TcpHeader.MIN_LENGTH_BYTES + s.optionsLengthBytes();
    }

    private static int ipBytes(Segment s) {
        return isIpv4(s) ? Ipv4Header.MIN_LENGTH_BYTES : Ipv6Header.LENGTH_BYTES;
    }

    /** Returns whether the segment is sent over IPv4, that is, its source is an IPv4-mapped address. */
    public static boolean isIpv4(Segment s) {
        return s.sourceHigh == 0 && s.sourceLow >>> 32 == 0xFFFF;
    }

    /**
     * Writes the IP and TCP headers including their checksums. DF is set. The identification is 0, as RFC 6864
     * section 4.1 permits for such packets.
     *
     * @param address    absolute address with room for {@link #headersLengthBytes}
     * @param payloadSum {@link InternetChecksum#sum(long, int)} of the payload; 0 without payload
     * @return the length of both headers
     */
    public static int write(Segment s, long address, long payloadSum) {
        int optionsBytes = s.optionsLengthBytes();
        int tcpBytes = TcpHeader.MIN_LENGTH_BYTES + optionsBytes + s.payloadLength;
        int ipBytes;
        long sum = IpProtocol.TCP + tcpBytes + InternetChecksum.asNumber(payloadSum);
        if (isIpv4(s)) {
            ipBytes = Ipv4Header.MIN_LENGTH_BYTES;
            sum += writeIpv4(s, address, ipBytes + tcpBytes);
        } else {
            ipBytes = Ipv6Header.LENGTH_BYTES;
            sum += writeIpv6(s, address, tcpBytes);
        }
        writeTcp(s, address + ipBytes, optionsBytes, sum);
        return ipBytes + TcpHeader.MIN_LENGTH_BYTES + optionsBytes;
    }

    /** Writes the IPv4 header. Returns the sum of the addresses. */
    private static long writeIpv4(Segment s, long address, int totalBytes) {
        long source = s.sourceLow & LOW_32;
        long destination = s.destinationLow & LOW_32;
        long first = (long) (VERSION_AND_LENGTH | s.dscp << 18 | s.ecn << 16 | totalBytes) & LOW_32;
        long third = (long) s.hopLimit << 24 | IpProtocol.TCP << 16;
        int checksum = InternetChecksum.finishNumbers(
                first + Ipv4Header.DONT_FRAGMENT + third + source + destination);
        NetworkOrder.putLong(address, first << 32 | Ipv4Header.DONT_FRAGMENT);
        NetworkOrder.putLong(address + 8, (third | checksum) << 32 | source);
        NetworkOrder.putInt(address + 16, (int) destination);
        return source + destination;
    }

    private static long writeIpv6(Segment s, long address, int payloadBytes) {
        Ipv6Header.writeFixed(address, s.dscp << 2 | s.ecn, s.flowLabel, payloadBytes, IpProtocol.TCP, s.hopLimit);
        Ipv6Header.setSource(address, s.sourceHigh, s.sourceLow);
        Ipv6Header.setDestination(address, s.destinationHigh, s.destinationLow);
        return halves(s.sourceHigh) + halves(s.sourceLow) + halves(s.destinationHigh) + halves(s.destinationLow);
    }

    private static void writeTcp(Segment s, long address, int optionsBytes, long pseudoSum) {
        long first = (long) s.sourcePort << 48 | (long) s.destinationPort << 32 | s.seq & LOW_32;
        int offset = TcpHeader.MIN_LENGTH_BYTES + optionsBytes >>> 2;
        long second = (long) s.ack << 32 | (long) offset << 28 | (long) s.flags << 16 | s.window;
        long sum = pseudoSum + halves(first) + halves(second) + s.urgentPointer;
        long third = s.urgentPointer;
        NetworkOrder.putLong(address, first);
        NetworkOrder.putLong(address + 8, second);
        if (optionsBytes == TIMESTAMPS_BYTES && s.timestamps && !s.sackPermitted) {
            long times = (long) s.tsValue << 32 | s.tsEcho & LOW_32;
            sum += NOP_NOP_TIMESTAMPS + halves(times);
            int checksum = InternetChecksum.finishNumbers(sum);
            NetworkOrder.putLong(address + 16, (checksum << 16 | third) << 32 | NOP_NOP_TIMESTAMPS);
            NetworkOrder.putLong(address + 24, times);
        } else {
            sum += writeOptions(s, address + TcpHeader.MIN_LENGTH_BYTES);
            NetworkOrder.putInt(address + 16, InternetChecksum.finishNumbers(sum) << 16 | (int) third);
        }
    }

    /** Writes the options word by word in the layout that Linux uses. Returns their sum. */
    private static long writeOptions(Segment s, long start) {
        long at = start;
        long sum = 0;
        if (s.mss != 0) {
            sum += putWord(at, TcpOptions.KIND_MSS << 24 | 4 << 16 | s.mss & 0xFFFF);
            at += 4;
        }
        if (s.timestamps) {
            sum += putWord(at, s.sackPermitted ? SACK_PERMITTED_TIMESTAMPS : NOP_NOP_TIMESTAMPS)
                    + putWord(at + 4, s.tsValue) + putWord(at + 8, s.tsEcho);
            at += TIMESTAMPS_BYTES;
        }
        if (s.accEcnCounters != Segment.ABSENT) {
            sum += writeAccEcn(s, at);
            at += ACC_ECN_BASE_BYTES + TcpOptions.ACC_ECN_COUNTER_BYTES * Integer.bitCount(s.accEcnCounters) + 3 & ~3;
        }
        if (s.sackPermitted && !s.timestamps) {
            sum += putWord(at, NOP_NOP_SACK_PERMITTED);
            at += 4;
        }
        if (s.windowScale != Segment.ABSENT) {
            sum += putWord(at, TcpOptions.KIND_NOP << 24 | TcpOptions.KIND_WINDOW_SCALE << 16 | 3 << 8 | s.windowScale);
            at += 4;
        }
        if (s.fastOpenCookieLengthBytes != Segment.ABSENT) {
            sum += writeFastOpen(s, at);
            at += 2 + s.fastOpenCookieLengthBytes + 3 & ~3;
        }
        if (s.sackCount > 0) {
            sum += putWord(at, TcpOptions.KIND_NOP << 24 | TcpOptions.KIND_NOP << 16 | TcpOptions.KIND_SACK << 8
                    | 2 + 8 * s.sackCount);
            for (int i = 0; i < 2 * s.sackCount; i++) {
                sum += putWord(at + 4 + 4L * i, s.sack[i]);
            }
        }
        return sum;
    }

    /** Writes the AccECN option (RFC 9768 section 3.2.3), padded with NOPs. Returns its sum. */
    private static long writeAccEcn(Segment s, long start) {
        int count = Integer.bitCount(s.accEcnCounters);
        boolean ect1First = (s.accEcnCounters & TcpOptions.ACC_ECN_ECT1) != 0;
        int first = ect1First ? s.accEcnEct1Bytes : s.accEcnEct0Bytes;
        int head = (ect1First ? TcpOptions.KIND_ACC_ECN_1 : TcpOptions.KIND_ACC_ECN_0) << 24
                | ACC_ECN_BASE_BYTES + TcpOptions.ACC_ECN_COUNTER_BYTES * count << 16;
        if (count == 0) {
            return putWord(start, head | NOP_NOP);
        }
        long sum = putWord(start, head | first >>> 8 & 0xFFFF)
                + putWord(start + 4, first << 24 | (count > 1 ? s.accEcnCeBytes : NOP_NOP_NOP));
        if (count > 2) {
            sum += putWord(start + 8, (ect1First ? s.accEcnEct0Bytes : s.accEcnEct1Bytes) << 8 | TcpOptions.KIND_NOP);
        }
        return sum;
    }

    /** Writes kind, length and cookie, padded with NOPs. Returns their sum. */
    private static long writeFastOpen(Segment s, long start) {
        int end = 2 + s.fastOpenCookieLengthBytes;
        long sum = 0;
        for (int at = 0; at < end; at += 4) {
            int value = 0;
            for (int i = at; i < at + 4; i++) {
                int octet = i == 0 ? TcpOptions.KIND_FAST_OPEN : i == 1 ? end
                        : i < end ? cookieByte(s, i - 2) : TcpOptions.KIND_NOP;
                value = value << 8 | octet;
            }
            sum += putWord(start + at, value);
        }
        return sum;
    }

    private static int cookieByte(Segment s, int i) {
        return (int) ((i < 8 ? s.fastOpenCookieHigh : s.fastOpenCookieLow) >>> 56 - 8 * (i & 7)) & 0xFF;
    }

    private static long putWord(long address, int value) {
        NetworkOrder.putInt(address, value);
        return value & LOW_32;
    }

    private static long halves(long value) {
        return (value >>> 32) + (value & LOW_32);
    }

    /**
     * Reads everything except the payload from a parsed TCP frame. An option with an invalid length ends the
     * options; those before it are used, as on Linux.
     */
    public void read(ParsedFrame frame, Segment out) {
        long header = frame.transportHeaderAddress();
        out.clearPayload();
        out.clearOptions();
        out.connection = null;
        out.sourceHigh = frame.sourceHigh();
        out.sourceLow = frame.sourceLow();
        out.sourcePort = frame.sourcePort();
        out.destinationHigh = frame.destinationHigh();
        out.destinationLow = frame.destinationLow();
        out.destinationPort = frame.destinationPort();
        out.seq = TcpHeader.sequence(header);
        long control = NetworkOrder.getLong(header + 8);
        out.ack = (int) (control >>> 32);
        out.flags = (int) (control >>> 16) & FLAGS_MASK;
        out.window = (int) control & 0xFFFF;
        out.urgentPointer = TcpHeader.urgentPointer(header);
        int trafficClass = frame.trafficClass();
        out.ecn = trafficClass & 3;
        out.dscp = trafficClass >>> 2;
        if (frame.transportHeaderLengthBytes() > TcpHeader.MIN_LENGTH_BYTES) {
            readOptions(frame, out);
        }
    }

    private void readOptions(ParsedFrame frame, Segment out) {
        options.parse(frame);
        if (options.hasTimestamps()) {
            out.timestamps(options.timestampValue(), options.timestampEcho());
        }
        for (int i = 0; i < options.sackBlockCount(); i++) {
            out.addSack(options.sackStart(i), options.sackEnd(i));
        }
        out.mss = Math.max(0, options.maximumSegmentSize());
        out.windowScale = options.windowScale();
        out.sackPermitted = options.isSackPermitted();
        if (options.accEcnCounters() != TcpOptions.ABSENT) {
            out.accEcn(options.accEcnCounters(), options.accEcnEct1Bytes(), options.accEcnCeBytes(),
                    options.accEcnEct0Bytes());
        }
        if (options.fastOpenCookieLengthBytes() != TcpOptions.ABSENT) {
            readFastOpen(frame.transportHeaderAddress() + TcpHeader.MIN_LENGTH_BYTES + options.fastOpenCookieOffset(),
                    options.fastOpenCookieLengthBytes(), out);
        }
    }

    /**
     * Reads the Fast Open option. Only an even cookie length from 4 to 16, or 0 for a request, is valid (RFC 7413
     * section 4.1.1); otherwise the option is ignored.
     */
    private static void readFastOpen(long address, int lengthBytes, Segment out) {
        if (lengthBytes != 0 && (lengthBytes < 4 || lengthBytes > 16 || (lengthBytes & 1) != 0)) {
            return;
        }
        long high = 0;
        long low = 0;
        for (int i = 0; i < lengthBytes; i++) {
            long octet = (long) NetworkOrder.getU8(address + i) << 56 - 8 * (i & 7);
            high |= i < 8 ? octet : 0;
            low |= i < 8 ? 0 : octet;
        }
        out.fastOpenCookie(lengthBytes, high, low);
    }
}
