package io.rdmaraw.testsuite.sim;

import java.nio.ByteBuffer;
import java.util.Arrays;

/**
 * A TCP packet over IPv4 or IPv6 as used by the simulator, the reference peer and the scripts. Encoding and
 * decoding share no code with the transport, so that an error of the transport cannot cancel out.
 *
 * <p>An address consists of two longs. IPv4 addresses are in the mapped form ::ffff:a.b.c.d.
 */
public final class Packet {
    public static final int FIN = 1;
    public static final int SYN = 2;
    public static final int RST = 4;
    public static final int PSH = 8;
    public static final int ACK = 16;
    public static final int URG = 32;
    public static final int ECE = 64;
    public static final int CWR = 128;
    public static final int AE = 256;
    private static final int TCP = 6;
    private static final long MAPPED = 0xffff_0000_0000L;

    public long sourceHigh;
    public long sourceLow;
    public long destinationHigh;
    public long destinationLow;
    public int sourcePort;
    public int destinationPort;
    public int ecn;
    public int seq;
    public int ack;
    public int flags;
    public int window;
    public int urgentPointer;
    /** 0: no option. */
    public int mss;
    /** -1: no option. */
    public int windowScale = -1;
    public boolean sackPermitted;
    public boolean timestamps;
    public int tsValue;
    public int tsEcho;
    /** Left and right edges of the blocks, alternating. */
    public int[] sack = new int[0];
    /** Counters of the AccECN option by IP-ECN codepoint, -1 for those that it lacks; empty without the option. */
    public int[] ecnBytes = new int[0];
    private int accEcnOptionBytes;

    /**
     * Options to append unchanged behind all others, padded with the end-of-list option. Empty in a decoded
     * packet.
     */
    public byte[] rawOptions = new byte[0];
    public byte[] payload = new byte[0];

    public boolean has(int flag) {
        return (flags & flag) != 0;
    }

    /** Returns the length of the options that vary between segments, SACK and AccECN, including padding. */
    int variableOptionBytes() {
        return (sack.length == 0 ? 0 : 4 + 4 * sack.length) + accEcnOptionBytes;
    }

    /** Returns the length of the packet in sequence space. */
    public int sequenceLength() {
        return payload.length + (flags & FIN) + (flags >> 1 & 1);
    }

    /** Returns the first sequence number behind the packet. */
    public int end() {
        return seq + sequenceLength();
    }

    public boolean isIpv6() {
        return sourceHigh != 0 || sourceLow >>> 32 != 0xffff;
    }

    /** Sets the addresses and ports of both ends. */
    public Packet route(long fromHigh, long fromLow, int fromPort, long toHigh, long toLow, int toPort) {
        sourceHigh = fromHigh;
        sourceLow = fromLow;
        sourcePort = fromPort;
        destinationHigh = toHigh;
        destinationLow = toLow;
        destinationPort = toPort;
        return this;
    }

    /** Returns the packet with its IP header and checksums. */
    public byte[] encode() {
        byte[] options = options();
        int tcpBytes = 20 + options.length + payload.length;
        int ipBytes = isIpv6() ? 40 : 20;
        ByteBuffer out = ByteBuffer.allocate(ipBytes + tcpBytes);
        if (isIpv6()) {
            out.putInt(6 << 28 | ecn << 20).putShort((short) tcpBytes).put((byte) TCP).put((byte) 64);
            out.putLong(sourceHigh).putLong(sourceLow).putLong(destinationHigh).putLong(destinationLow);
        } else {
            out.put((byte) 0x45).put((byte) ecn).putShort((short) out.capacity()).putInt(0x4000);
            out.put((byte) 64).put((byte) TCP).putShort((short) 0).putInt((int) sourceLow).putInt((int) destinationLow);
            out.putShort(10, (short) ~fold(sum(out.array(), 0, 20)));
        }
        out.putShort((short) sourcePort).putShort((short) destinationPort).putInt(seq).putInt(ack);
        out.put((byte) (5 + options.length / 4 << 4 | flags >> 8)).put((byte) flags).putShort((short) window)
                .putShort((short) 0).putShort((short) urgentPointer);
        out.put(options).put(payload);
        out.putShort(ipBytes + 16, (short) ~fold(transportSum(out.array(), ipBytes)));
        return out.array();
    }

    private byte[] options() {
        ByteBuffer out = ByteBuffer.allocate(80);
        if (mss != 0) {
            out.put((byte) 2).put((byte) 4).putShort((short) mss);
        }
        if (windowScale >= 0) {
            out.put((byte) 1).put((byte) 3).put((byte) 3).put((byte) windowScale);
        }
        if (sackPermitted) {
            out.put((byte) 1).put((byte) 1).put((byte) 4).put((byte) 2);
        }
        if (timestamps) {
            out.put((byte) 1).put((byte) 1).put((byte) 8).put((byte) 10).putInt(tsValue).putInt(tsEcho);
        }
        if (sack.length > 0) {
            int edges = Math.min(sack.length, (40 - out.position() - 4) / 8 * 2);
            out.put((byte) 1).put((byte) 1).put((byte) 5).put((byte) (2 + 4 * edges));
            for (int i = 0; i < edges; i++) {
                out.putInt(sack[i]);
            }
        }
        out.put(rawOptions);
        return Arrays.copyOf(out.array(), out.position() + 3 & ~3);
    }

    /** Returns the decoded packet, or null if a length or a checksum is wrong. */
    public static Packet decode(byte[] bytes) {
        ByteBuffer in = ByteBuffer.wrap(bytes);
        Packet packet = new Packet();
        int version = bytes.length < 20 ? 0 : bytes[0] >> 4;
        int ipBytes = version == 4 ? (bytes[0] & 15) * 4 : 40;
        if (version != 4 && version != 6 || bytes.length < ipBytes + 20) {
            return null;
        }
        if (version == 4) {
            if (ipBytes < 20 || (in.getShort(2) & 0xffff) != bytes.length || fold(sum(bytes, 0, ipBytes)) != 0xffff
                    || bytes[9] != TCP) {
                return null;
            }
            packet.ecn = bytes[1] & 3;
            packet.sourceLow = MAPPED | in.getInt(12) & 0xffff_ffffL;
            packet.destinationLow = MAPPED | in.getInt(16) & 0xffff_ffffL;
        } else {
            if ((in.getShort(4) & 0xffff) != bytes.length - 40 || bytes[6] != TCP) {
                return null;
            }
            packet.ecn = bytes[1] >> 4 & 3;
            packet.sourceHigh = in.getLong(8);
            packet.sourceLow = in.getLong(16);
            packet.destinationHigh = in.getLong(24);
            packet.destinationLow = in.getLong(32);
        }
        return packet.readTcp(in, ipBytes) ? packet : null;
    }

    private boolean readTcp(ByteBuffer in, int at) {
        byte[] bytes = in.array();
        int headerBytes = (bytes[at + 12] >> 4 & 15) * 4;
        if (headerBytes < 20 || at + headerBytes > bytes.length || fold(transportSum(bytes, at)) != 0xffff) {
            return false;
        }
        sourcePort = in.getShort(at) & 0xffff;
        destinationPort = in.getShort(at + 2) & 0xffff;
        seq = in.getInt(at + 4);
        ack = in.getInt(at + 8);
        flags = (bytes[at + 12] & 1) << 8 | bytes[at + 13] & 0xff;
        window = in.getShort(at + 14) & 0xffff;
        urgentPointer = in.getShort(at + 18) & 0xffff;
        payload = Arrays.copyOfRange(bytes, at + headerBytes, bytes.length);
        return readOptions(in, at + 20, at + headerBytes);
    }

    private boolean readOptions(ByteBuffer in, int from, int to) {
        int at = from;
        while (at < to && in.get(at) != 0) {
            int kind = in.get(at);
            int length = kind == 1 ? 1 : at + 1 < to ? in.get(at + 1) & 0xff : 0;
            if (length == 0 || kind != 1 && length < 2 || at + length > to) {
                return false;
            }
            switch (kind) {
                case 2 -> mss = in.getShort(at + 2) & 0xffff;
                case 3 -> windowScale = in.get(at + 2) & 0xff;
                case 4 -> sackPermitted = true;
                case 5 -> {
                    sack = new int[(length - 2) / 4];
                    for (int i = 0; i < sack.length; i++) {
                        sack[i] = in.getInt(at + 2 + 4 * i);
                    }
                }
                case 8 -> {
                    timestamps = true;
                    tsValue = in.getInt(at + 2);
                    tsEcho = in.getInt(at + 6);
                }
                case (byte) 172, (byte) 174 -> {
                    // RFC 9768 figure 4: the order of the codepoints depends on the kind.
                    int[] codepoints = kind == (byte) 172 ? new int[] {2, 3, 1} : new int[] {1, 3, 2};
                    ecnBytes = new int[] {-1, -1, -1, -1};
                    accEcnOptionBytes = length + 3 & ~3;
                    for (int i = 0; i < codepoints.length && 2 + 3 * i + 3 <= length; i++) {
                        ecnBytes[codepoints[i]] = in.getInt(at + 1 + 3 * i) & 0xff_ffff;
                    }
                }
                default -> {
                    // NOP and unknown options are skipped.
                }
            }
            at += length;
        }
        return true;
    }

    /** Returns the checksum's sum of the pseudo header and of everything from {@code at} on. */
    private static long transportSum(byte[] bytes, int at) {
        int addresses = at == 40 && bytes[0] >> 4 == 6 ? 8 : 12;
        int addressBytes = addresses == 8 ? 32 : 8;
        return sum(bytes, addresses, addressBytes) + sum(bytes, at, bytes.length - at) + TCP + (bytes.length - at);
    }

    private static long sum(byte[] bytes, int from, int length) {
        long sum = 0;
        for (int i = 0; i < length; i++) {
            sum += (i & 1) == 0 ? (bytes[from + i] & 0xff) << 8 : bytes[from + i] & 0xff;
        }
        return sum;
    }

    private static int fold(long sum) {
        long folded = sum;
        while (folded >>> 16 != 0) {
            folded = (folded & 0xffff) + (folded >>> 16);
        }
        return (int) folded;
    }

    /** Returns the flags as letters in tcpdump's notation. */
    public String flagLetters() {
        String letters = (has(SYN) ? "S" : "") + (has(FIN) ? "F" : "") + (has(RST) ? "R" : "") + (has(PSH) ? "P" : "")
                + (has(URG) ? "U" : "") + (has(ECE) ? "E" : "") + (has(CWR) ? "W" : "") + (has(AE) ? "e" : "")
                + (has(ACK) ? "." : "");
        return letters.isEmpty() ? "none" : letters;
    }

    @Override
    public String toString() {
        return sourcePort + ">" + destinationPort + " " + flagLetters() + " seq " + Integer.toUnsignedString(seq) + "+"
                + payload.length + (has(ACK) ? " ack " + Integer.toUnsignedString(ack) : "") + " win " + window
                + (mss != 0 ? " mss " + mss : "") + (windowScale >= 0 ? " ws " + windowScale : "")
                + (sackPermitted ? " sackOK" : "") + (timestamps ? " ts " + tsValue + "/" + tsEcho : "")
                + (sack.length > 0 ? " sack " + Arrays.toString(sack) : "")
                + (ecnBytes.length > 0 ? " accecn " + Arrays.toString(ecnBytes) : "") + (ecn != 0 ? " ecn " + ecn : "");
    }
}
