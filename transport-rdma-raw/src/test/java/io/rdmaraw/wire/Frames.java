package io.rdmaraw.wire;

import java.io.ByteArrayOutputStream;
import java.util.HexFormat;

/**
 * Builds frames from hexadecimal text, with checksums by the naive sum. It shares no code with the code under
 * test.
 */
final class Frames {
    static final String ETHERNET = "0200000000020200000000010800";
    static final String ETHERNET6 = "02000000000202000000000186dd";
    static final String V6_SOURCE = "20010db8000000000000000000000001";
    static final String V6_DESTINATION = "20010db8000000000000000000000002";
    private static final String V4_SOURCE = "c0a80001";
    private static final String V4_DESTINATION = "c0a80002";

    private Frames() {
    }

    static byte[] hex(String... parts) {
        return HexFormat.of().parseHex(String.join("", parts).replace(" ", ""));
    }

    static byte[] join(byte[]... parts) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        for (byte[] part : parts) {
            out.writeBytes(part);
        }
        return out.toByteArray();
    }

    /** Builds an IPv4 packet without options. {@code field} contains flags and fragment offset. */
    static byte[] ipv4(int protocol, int field, byte[] payload) {
        return ipv4(protocol, field, new byte[0], payload);
    }

    static byte[] ipv4(int protocol, int field, byte[] options, byte[] payload) {
        int headerBytes = 20 + options.length;
        byte[] header = join(hex("%02x00%04x1234%04x40%02x0000".formatted(0x40 | headerBytes / 4,
                headerBytes + payload.length, field, protocol), V4_SOURCE, V4_DESTINATION), options);
        put16(header, 10, InternetChecksumTest.naive(header));
        return join(header, payload);
    }

    static byte[] ipv6(int nextHeader, int hopLimit, byte[] payload) {
        return join(hex("60000000%04x%02x%02x".formatted(payload.length, nextHeader, hopLimit), V6_SOURCE,
                V6_DESTINATION), payload);
    }

    /** Sets the checksum of a transport packet for the addresses of this class. */
    static byte[] checksummed(int version, int protocol, int checksumOffset, byte[] packet) {
        String addresses = version == 4 ? V4_SOURCE + V4_DESTINATION : V6_SOURCE + V6_DESTINATION;
        byte[] pseudo = hex(addresses, "%08x%08x".formatted(packet.length, protocol));
        boolean plainIcmp = protocol == 1;
        byte[] result = packet.clone();
        put16(result, checksumOffset, 0);
        put16(result, checksumOffset, InternetChecksumTest.naive(plainIcmp ? result : join(pseudo, result)));
        return result;
    }

    static byte[] udp(int version, byte[] payload) {
        return checksummed(version, 17, 6, join(hex("1111 2222 %04x 0000".formatted(8 + payload.length)), payload));
    }

    static byte[] tcp(int version, byte[] options, byte[] payload) {
        return checksummed(version, 6, 16, join(hex("3333 0050 01020304 0a0b0c0d %x018 7fff 0000 0000"
                .formatted(5 + options.length / 4)), options, payload));
    }

    static void put16(byte[] bytes, int offset, int value) {
        bytes[offset] = (byte) (value >> 8);
        bytes[offset + 1] = (byte) value;
    }
}
