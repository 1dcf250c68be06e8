package io.rdmaraw.route;

import io.rdmaraw.ffi.Libc;
import io.rdmaraw.wire.IcmpHeader;
import io.rdmaraw.wire.IpProtocol;
import io.rdmaraw.wire.Ipv6Header;
import io.rdmaraw.wire.ParseCounters;
import io.rdmaraw.wire.UdpHeader;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import static org.junit.jupiter.api.Assertions.assertEquals;

class IcmpErrorsTest {
    private static final IpAddress LOCAL = IpAddress.parse("fd00::1");
    private static final IpAddress REMOTE = IpAddress.parse("fd01::1");

    private final long memory = Libc.allocateZeroed(128);

    @AfterEach
    void free() {
        Libc.free(memory);
    }

    /** Read as a negative number an enormous MTU would lower the path's to the least. */
    @ParameterizedTest
    @CsvSource({"1400, 1400", "2147483647, 2147483647", "2147483648, 2147483647", "4294967295, 2147483647"})
    void anMtuIsUnsigned(long told, int read) {
        IcmpHeader.write(memory, IcmpHeader.V6_PACKET_TOO_BIG, 0, (int) told);
        Ipv6Header.writeFixed(memory + 8, 0, 0, 8, IpProtocol.UDP, 64);
        Ipv6Header.setSource(memory + 8, LOCAL.high(), LOCAL.low());
        Ipv6Header.setDestination(memory + 8, REMOTE.high(), REMOTE.low());
        UdpHeader.write(memory + 48, 1000, 53, 8);
        IcmpError error = new IcmpErrors(new ParseCounters()).readIcmpv6(memory, 56, REMOTE);
        assertEquals(read, error.nextHopMtuBytes());
        assertEquals(IcmpError.Kind.PACKET_TOO_BIG, error.kind());
    }
}
