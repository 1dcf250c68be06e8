package io.rdmaraw.net;

import io.rdmaraw.ffi.Libc;
import io.rdmaraw.wire.IcmpErrorKind;
import io.rdmaraw.wire.IcmpHeader;
import io.rdmaraw.wire.IpProtocol;
import io.rdmaraw.wire.Ipv6Header;
import io.rdmaraw.wire.ParseCounters;
import io.rdmaraw.wire.UdpHeader;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import static org.junit.jupiter.api.Assertions.assertEquals;

class IcmpErrorParserTest {
    private static final IpAddress LOCAL = IpAddress.parse("fd00::1");
    private static final IpAddress REMOTE = IpAddress.parse("fd01::1");

    private final long memory = Libc.allocateZeroed(128);

    @AfterEach
    void free() {
        Libc.free(memory);
    }

    /** As a negative number, a very large MTU would reduce the path MTU to the minimum. */
    @ParameterizedTest
    @CsvSource({"1400, 1400", "2147483647, 2147483647", "2147483648, 2147483647", "4294967295, 2147483647"})
    void anMtuIsUnsigned(long told, int read) {
        IcmpHeader.write(memory, IcmpHeader.V6_PACKET_TOO_BIG, 0, (int) told);
        Ipv6Header.writeFixed(memory + 8, 0, 0, 8, IpProtocol.UDP, 64);
        Ipv6Header.setSource(memory + 8, LOCAL.high(), LOCAL.low());
        Ipv6Header.setDestination(memory + 8, REMOTE.high(), REMOTE.low());
        UdpHeader.write(memory + 48, 1000, 53, 8);
        IcmpError error = new IcmpErrorParser(new ParseCounters()).readIcmpv6(memory, 56, REMOTE);
        assertEquals(read, error.nextHopMtuBytes());
        assertEquals(IcmpErrorKind.PACKET_TOO_BIG, error.kind());
    }

    /** The codes of RFC 792, RFC 1122 section 3.2.2.1 and RFC 1812 section 5.2.7.1. */
    @ParameterizedTest
    @CsvSource({"3, 0, HOST_UNREACHABLE", "3, 1, HOST_UNREACHABLE", "3, 2, PROTOCOL_UNREACHABLE",
            "3, 3, PORT_UNREACHABLE", "3, 4, PACKET_TOO_BIG", "3, 9, PROHIBITED", "3, 10, PROHIBITED",
            "3, 13, PROHIBITED", "11, 0, TIME_EXCEEDED", "12, 0, PARAMETER_PROBLEM"})
    void eachCodeOfIpv4HasItsMeaning(int type, int code, IcmpErrorKind kind) {
        assertEquals(kind, IcmpErrorParser.kindOf(type, code));
    }
}
