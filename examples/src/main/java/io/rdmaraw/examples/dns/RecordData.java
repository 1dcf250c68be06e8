package io.rdmaraw.examples.dns;

import io.netty.handler.codec.dns.DnsRecord;
import io.netty.handler.codec.dns.DnsRecordType;

import java.io.ByteArrayOutputStream;
import java.net.Inet4Address;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.function.UnaryOperator;

/** Encodes the data of a record from the words of a master file (RFC 1035 section 3.3). */
final class RecordData {
    private static final int MAX_LABEL_BYTES = 63;
    private static final int MAX_STRING_BYTES = 255;
    private static final int SOA_NUMBERS = 5;
    /** Length of type, class, TTL and data length. */
    private static final int FIXED_BYTES = 10;

    private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();

    private RecordData() {
    }

    /**
     * Encodes the data of a record.
     *
     * @param absolute converts a name to an absolute one with a trailing dot
     */
    static byte[] encode(DnsRecordType type, List<String> values, UnaryOperator<String> absolute) {
        RecordData data = new RecordData();
        switch (type.name()) {
            case "A" -> data.address(values.getFirst(), Inet4Address.class);
            case "AAAA" -> data.address(values.getFirst(), Inet6Address.class);
            case "NS", "CNAME", "PTR" -> data.append(absolute.apply(values.getFirst()));
            case "MX" -> data.number(values.getFirst(), Short.BYTES).append(absolute.apply(values.get(1)));
            case "TXT" -> values.forEach(data::string);
            case "SOA" -> {
                data.append(absolute.apply(values.getFirst())).append(absolute.apply(values.get(1)));
                for (int i = 0; i < SOA_NUMBERS; i++) {
                    data.number(values.get(2 + i), Integer.BYTES);
                }
            }
            default -> throw new IllegalArgumentException("records of type " + type.name() + " are not known here");
        }
        return data.bytes.toByteArray();
    }

    /** Encodes a name as labels with a length byte each, followed by a zero. */
    static byte[] name(String name) {
        return new RecordData().append(name).bytes.toByteArray();
    }

    /** Encodes a complete record (RFC 1035 section 4.1.3). */
    static byte[] record(byte[] encodedName, DnsRecordType type, long ttlSeconds, byte[] data) {
        ByteBuffer record = ByteBuffer.allocate(encodedName.length + FIXED_BYTES + data.length);
        return record.put(encodedName).putShort((short) type.intValue()).putShort((short) DnsRecord.CLASS_IN)
                .putInt((int) ttlSeconds).putShort((short) data.length).put(data).array();
    }

    private void address(String text, Class<? extends InetAddress> version) {
        InetAddress address = InetAddress.ofLiteral(text);
        if (!version.isInstance(address)) {
            throw new IllegalArgumentException(text + " is an address of the other version of IP");
        }
        bytes.writeBytes(address.getAddress());
    }

    private RecordData append(String name) {
        if (!name.equals(".")) {
            for (String label : name.substring(0, name.length() - 1).split("\\.", -1)) {
                counted(label, MAX_LABEL_BYTES);
            }
        }
        bytes.write(0);
        return this;
    }

    private RecordData number(String text, int length) {
        byte[] whole = ByteBuffer.allocate(Long.BYTES).putLong(Long.parseLong(text)).array();
        bytes.write(whole, Long.BYTES - length, length);
        return this;
    }

    private void string(String text) {
        counted(text, MAX_STRING_BYTES);
    }

    private void counted(String text, int maxLength) {
        byte[] part = text.getBytes(StandardCharsets.UTF_8);
        if (part.length > maxLength || part.length == 0 && maxLength == MAX_LABEL_BYTES) {
            throw new IllegalArgumentException('\'' + text + "' has not 1 to " + maxLength + " bytes");
        }
        bytes.write(part.length);
        bytes.writeBytes(part);
    }
}
