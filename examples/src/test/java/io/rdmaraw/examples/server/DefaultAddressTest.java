package io.rdmaraw.examples.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

import java.net.InetAddress;

class DefaultAddressTest {
    @Test
    void aServerListensWhereItsDeviceIs() {
        assertTrue(DefaultAddress.of("soft:xdp:lo").isLoopbackAddress());
        assertEquals("127.0.0.1", DefaultAddress.of("soft:xdp:lo").getHostAddress(), "IPv4 before IPv6");
        assertEquals(InetAddress.getLoopbackAddress(), DefaultAddress.of("soft:loop"));
        assertEquals(InetAddress.getLoopbackAddress(), DefaultAddress.of("soft:xdp:nosuchif0"));
    }
}
