package io.rdmaraw.examples.tcp;

import io.rdmaraw.examples.Setup;
import io.rdmaraw.examples.Stage;
import io.rdmaraw.examples.server.ExampleException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.net.InetSocketAddress;

import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

/**
 * Tests the echo server, directly and through a proxy on the same host. The client closes its output before it has read
 * everything. On epoll, the client first waits for all data: Netty 4.2.17 removes a half-closed connection without
 * pending writes from the epoll set and then loses track of it, so later writes fail with ENOENT.
 */
@Timeout(120)
class EchoServerTest {
    private static void check(Setup setup, Stage stage, InetSocketAddress server) throws Exception {
        Uploads.check(stage, server, setup != Setup.EPOLL && setup != Setup.EPOLL_VETH);
    }

    @ParameterizedTest
    @EnumSource
    void sendsEverythingBack(Setup setup) throws Exception {
        try (Stage stage = new Stage(setup)) {
            check(setup, stage, stage.start(new EchoServer()));
        }
    }

    @Test
    void aDeviceWithALargeMtuWantsLargerSlots() throws Exception {
        try (Stage stage = new Stage(Setup.RDMA_RAW_XDP)) {
            stage.setMtu(9000);
            Exception refused = assertThrows(Exception.class, () -> stage.start(new EchoServer()));
            assertTrue(refused.getMessage().contains("set slotBytes to at least 16384"), refused::toString);
            check(stage.setup(), stage, stage.start(new EchoServer(), "--slot-bytes", "16384"));
        }
    }

    @Test
    void slotsAreAPowerOfTwo() {
        try (Stage stage = new Stage(Setup.NIO)) {
            assertThrows(ExampleException.class, () -> stage.start(new EchoServer(), "--slot-bytes", "3000"));
        }
    }

    @ParameterizedTest
    @EnumSource
    void sendsEverythingBackThroughAProxy(Setup setup) throws Exception {
        try (Stage stage = new Stage(setup)) {
            var echo = stage.start(new EchoServer());
            var proxy = stage.start(new ProxyServer(), "--to", echo.getHostString() + ':' + echo.getPort());
            check(setup, stage, proxy);
        }
    }
}
