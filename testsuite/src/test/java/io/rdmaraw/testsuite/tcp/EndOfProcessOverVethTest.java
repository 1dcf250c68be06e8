package io.rdmaraw.testsuite.tcp;

import io.rdmaraw.testsuite.net.TestNetwork;
import io.rdmaraw.testsuite.net.VethPair;
import io.rdmaraw.testsuite.net.WithTestNetwork;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.net.Socket;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

/**
 * Checks the effect on kernel peers if a process ends by a signal or by System.exit, as described in
 * docs/guide/deploying.md.
 */
@Timeout(120)
@WithTestNetwork
class EndOfProcessOverVethTest {
    @AfterEach
    void restore() {
        SoftDevice.restore();
    }

    private static EndingServer start(VethPair pair, String hook) {
        return EndingServer.start(pair.ours().namespace(), SoftDevice.XDP_GENERIC, pair.ours().name(),
                pair.ours().ipv4(), hook);
    }

    private static Socket connect(VethPair pair, int port) throws Exception {
        return TcpHost.socket(pair.peer().namespace(), pair.ours().ipv4(), port);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shutdownHookDeliversDataAndFin(boolean bySignal, TestNetwork network) throws Exception {
        VethPair pair = network.vethPair(network.namespace(), network.namespace());
        try (EndingServer server = start(pair, EndingServer.WITH_HOOK); Socket idle = connect(pair, server.port());
                Socket slow = connect(pair, server.port())) {
            slow.getOutputStream().write(1);
            server.awaitAnswered();
            server.end(bySignal);
            assertEquals(-1, idle.getInputStream().read(), "the end of an idle connection");
            assertEquals(EndingServer.ANSWER_BYTES, slow.getInputStream().readAllBytes().length);
            server.awaitEnd();
        }
    }

    /** The kernel does not know the connection, so it answers the peer's next segment with a reset. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void withoutShutdownHookIdlePeerIsResetWhenItSends(boolean bySignal, TestNetwork network) throws Exception {
        VethPair pair = network.vethPair(network.namespace(), network.namespace());
        try (EndingServer server = start(pair, "without"); Socket idle = connect(pair, server.port())) {
            server.end(bySignal);
            server.awaitEnd();
            assertEquals(0, idle.getInputStream().available());
            // If a FIN had been sent, the peer would read the end of the stream. If a RST had been sent, it could
            // not write.
            idle.getOutputStream().write(1);
            assertThrows(IOException.class, () -> idle.getInputStream().read());
        }
    }
}
