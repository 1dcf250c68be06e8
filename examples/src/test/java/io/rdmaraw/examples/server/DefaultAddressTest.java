package io.rdmaraw.examples.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;

class DefaultAddressTest {
    @Test
    void aServerListensWhereItsDeviceIs() throws Exception {
        assertTrue(DefaultAddress.of("soft:xdp:lo").isLoopbackAddress());
        assertEquals("127.0.0.1", DefaultAddress.of("soft:xdp:lo").getHostAddress(), "IPv4 before IPv6");
        assertEquals("127.0.0.1", DefaultAddress.of("lo").getHostAddress(), "the interface of a card");
        assertEquals(InetAddress.getLoopbackAddress(), DefaultAddress.of("soft:loop"));
    }

    @Test
    void aCardsInterfaceIsFound(@TempDir Path sysfs) throws Exception {
        Files.createDirectories(sysfs.resolve("class/infiniband/mlx5_0/device/net/lo"));
        assertEquals("127.0.0.1", DefaultAddress.of("mlx5_0", sysfs).getHostAddress());
    }

    /**
     * Without an interface, the server requires an address. Otherwise the kernel would serve it on the host's loopback
     * without notice.
     */
    @Test
    void withoutAnInterfaceAServerAsksForAnAddress(@TempDir Path sysfs) {
        for (String device : new String[] {"mlx5_0", "soft:xdp:nosuchif0"}) {
            String message = assertThrows(ExampleException.class, () -> DefaultAddress.of(device, sysfs)).getMessage();
            assertTrue(message.contains("--address") && message.contains(device), message);
        }
    }
}
