package io.rdmaraw.tcp;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

import java.util.concurrent.TimeUnit;

/**
 * If the user of the core fails to accept received bytes, the connection is aborted, as its stream would have a
 * hole.
 */
class FailingUserTest {
    private final TwoEnds ends = new TwoEnds(TcpConfig.builder().build(), TcpConfig.builder().build(), 1);

    @Test
    void failureInDataEventAbortsConnection() {
        TcpConnection connection = ends.connect();
        ends.run(TimeUnit.SECONDS.toNanos(1));
        ends.serverEvents.failsNextData = true;
        connection.send(ends.buffer(new byte[100]));
        assertThrows(OutOfMemoryError.class, () -> ends.run(TimeUnit.SECONDS.toNanos(1)));
        ends.run(TimeUnit.SECONDS.toNanos(1));
        assertTrue(ends.serverEvents.events.contains("closed ABORTED"), ends.serverEvents.events.toString());
        assertTrue(ends.clientEvents.events.contains("closed RESET_BY_PEER"), ends.clientEvents.events.toString());
        assertEquals(0, ends.server.connectionCount());
        assertEquals(0, ends.serverEvents.received.size(), "nothing behind the hole");
    }
}
