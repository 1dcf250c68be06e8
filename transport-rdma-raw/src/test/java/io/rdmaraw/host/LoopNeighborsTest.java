package io.rdmaraw.host;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

import java.io.IOException;

class LoopNeighborsTest {
    /** The host's network outlives loops: one that still knew them would keep all that they had. */
    @Test
    void aLoopThatHasEndedIsForgottenByItsHost() throws IOException {
        HostNetwork host = HostNetwork.ofCallingThread();
        int before = host.listenerCount();
        LoopNeighbors neighbors = new LoopNeighbors(host, Runnable::run, () -> { });
        assertEquals(before + 1, host.listenerCount());
        neighbors.close();
        assertEquals(before, host.listenerCount());
    }
}
