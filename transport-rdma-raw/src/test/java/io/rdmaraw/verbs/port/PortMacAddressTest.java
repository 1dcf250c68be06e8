package io.rdmaraw.verbs.port;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class PortMacAddressTest {
    private static final String ABSENT = "absent0";

    private static String problem(long mac) {
        PortMacAddress address = PortMacAddress.acquire(ABSENT, 1, mac);
        try {
            return address.problem();
        } finally {
            address.release();
        }
    }

    /** A server with many multicast groups logs the problem of its port once. */
    @Test
    void problemIsTheSameForAllAddressesOfPort() {
        String problem = problem(0x0100_5e00_0001L);
        assertTrue(problem.contains("the interface of port 1 cannot list them: it is not in this network namespace"),
                problem);
        assertEquals(problem, problem(0x0100_5e00_0002L));
        assertNull(problem(0xffff_ffff_ffffL), "the broadcast address needs no entry");
    }
}
