package io.rdmaraw.host;

import io.rdmaraw.net.IpAddress;
import org.junit.jupiter.api.Test;

import java.util.concurrent.TimeUnit;

import static org.junit.jupiter.api.Assertions.assertEquals;

class PathMtusTest {
    private static final IpAddress FAR = IpAddress.parse("2001:db8::1");
    private static final IpAddress FAR_IPV4 = IpAddress.parse("192.0.2.1");

    private final PathMtus mtus = new PathMtus();

    @Test
    void smallestMtuAppliesUntilItExpires() {
        assertEquals(Integer.MAX_VALUE, mtus.limit(FAR, 0));
        mtus.recordMtu(FAR, 1400, 0);
        mtus.recordMtu(FAR, 1450, 0);
        assertEquals(1400, mtus.limit(FAR, 0));
        mtus.recordMtu(FAR, 1300, 5);
        assertEquals(1300, mtus.limit(FAR, TimeUnit.MINUTES.toNanos(10)));
        assertEquals(Integer.MAX_VALUE, mtus.limit(FAR, TimeUnit.MINUTES.toNanos(10) + 5));
    }

    /** Forged ICMP errors must not split each datagram into many fragments. */
    @Test
    void mtuIsNotBelowMinimum() {
        mtus.recordMtu(FAR, 68, 0);
        mtus.recordMtu(FAR_IPV4, 68, 0);
        assertEquals(1280, mtus.limit(FAR, 0));
        assertEquals(552, mtus.limit(FAR_IPV4, 0));
    }

    @Test
    void theNumberOfPathsIsBounded() {
        for (int i = 0; i < 10_000; i++) {
            mtus.recordMtu(IpAddress.ipv4(i + 1), 1400, 0);
        }
        assertEquals(Integer.MAX_VALUE, mtus.limit(IpAddress.ipv4(1), 0), "the oldest has made room");
        assertEquals(1400, mtus.limit(IpAddress.ipv4(10_000), 0));
    }
}
