package io.rdmaraw.testsuite.script;

import io.rdmaraw.testsuite.sim.Packet;
import io.rdmaraw.wire.IcmpErrorKind;
import java.nio.ByteBuffer;
import java.util.Locale;

/** The ICMP messages about a segment that a script may send (RFC 792). */
enum IcmpMessage {
    NET_UNREACHABLE(3, 0, IcmpErrorKind.HOST_UNREACHABLE),
    HOST_UNREACHABLE(3, 1, IcmpErrorKind.HOST_UNREACHABLE),
    PROTOCOL_UNREACHABLE(3, 2, IcmpErrorKind.PROTOCOL_UNREACHABLE),
    PORT_UNREACHABLE(3, 3, IcmpErrorKind.PORT_UNREACHABLE),
    TOO_BIG(3, 4, IcmpErrorKind.PACKET_TOO_BIG),
    SOURCE_ROUTE_FAILED(3, 5, IcmpErrorKind.HOST_UNREACHABLE),
    SOURCE_QUENCH(4, 0, null),
    TIME_EXCEEDED(11, 0, IcmpErrorKind.TIME_EXCEEDED),
    PARAMETER_PROBLEM(12, 0, null);

    private static final int IP_BYTES = 20;
    private static final int ICMP_BYTES = 8;
    private static final int QUOTED_BYTES = IP_BYTES + 8;

    private final int type;
    private final int code;
    private final IcmpErrorKind error;

    IcmpMessage(int type, int code, IcmpErrorKind error) {
        this.type = type;
        this.code = code;
        this.error = error;
    }

    static IcmpMessage named(String name) {
        return valueOf(name.replace('-', '_').toUpperCase(Locale.ROOT));
    }

    /** Returns the error that is reported to the core, or null if the message is dropped. */
    IcmpErrorKind error() {
        return error;
    }

    /** Returns an IPv4 packet with this message, from {@code source} to the sender of {@code quoted}. */
    byte[] encode(long source, Packet quoted, int mtuBytes) {
        ByteBuffer out = ByteBuffer.allocate(IP_BYTES + ICMP_BYTES + QUOTED_BYTES);
        out.putShort((short) 0x4500).putShort((short) out.capacity()).putInt(0).put((byte) 64).put((byte) 1);
        out.putShort((short) 0).putInt((int) source).putInt((int) quoted.sourceLow);
        out.putShort(10, checksum(out, 0, IP_BYTES));
        out.put((byte) type).put((byte) code).putShort((short) 0).putInt(mtuBytes);
        out.put(quoted.encode(), 0, QUOTED_BYTES);
        out.putShort(IP_BYTES + 2, checksum(out, IP_BYTES, out.capacity()));
        return out.array();
    }

    private static short checksum(ByteBuffer in, int from, int to) {
        int sum = 0;
        for (int i = from; i < to; i += 2) {
            sum += in.getShort(i) & 0xffff;
        }
        sum = (sum & 0xffff) + (sum >>> 16);
        return (short) ~(sum + (sum >>> 16));
    }
}
