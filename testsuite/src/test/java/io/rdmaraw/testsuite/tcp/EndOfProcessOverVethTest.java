package io.rdmaraw.testsuite.tcp;

import io.rdmaraw.testsuite.net.TestNetwork;
import io.rdmaraw.testsuite.net.VethPair;
import io.rdmaraw.testsuite.net.WithTestNetwork;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

/**
 * Checks the effect on kernel peers if a process ends by a signal or by System.exit, as described in
 * docs/guide/deploying.md.
 */
@Timeout(120)
@WithTestNetwork
class EndOfProcessOverVethTest {
    private static final int IDLE = 20;
    private static final int END_MILLIS = 20_000;

    @AfterEach
    void restore() {
        SoftDevice.restore();
    }

    private static EndingServer start(VethPair pair, EndingServer.Hooks hooks) {
        return EndingServer.start(pair.ours().namespace(), SoftDevice.XDP_GENERIC, pair.ours().name(),
                pair.ours().ipv4(), hooks);
    }

    private static VethPair pair(TestNetwork network) {
        return network.vethPair(network.namespace(), network.namespace());
    }

    private static Socket connect(VethPair pair, int port) throws Exception {
        return TcpHost.socket(pair.peer().namespace(), pair.ours().ipv4(), port);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void idlePeersReadTheEndOfTheStream(boolean bySignal, TestNetwork network) throws Exception {
        VethPair pair = pair(network);
        List<Socket> idle = new ArrayList<>();
        try (EndingServer server = start(pair, EndingServer.Hooks.NONE)) {
            int port = server.port();
            for (int i = 0; i < IDLE; i++) {
                idle.add(connect(pair, port));
            }
            server.end(bySignal);
            for (Socket socket : idle) {
                socket.setSoTimeout(END_MILLIS);
                assertEquals(-1, socket.getInputStream().read());
            }
            server.awaitEnd();
        } finally {
            for (Socket socket : idle) {
                socket.close();
            }
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void hookThatShutsLoopsDownDeliversDataAndFin(boolean bySignal, TestNetwork network) throws Exception {
        VethPair pair = pair(network);
        try (EndingServer server = start(pair, EndingServer.Hooks.SHUTTING_DOWN);
                Socket idle = connect(pair, server.port()); Socket slow = connect(pair, server.port())) {
            slow.getOutputStream().write(1);
            server.awaitAnswered();
            server.end(bySignal);
            assertEquals(-1, idle.getInputStream().read(), "the end of an idle connection");
            assertEquals(EndingServer.ANSWER_BYTES, slow.getInputStream().readAllBytes().length);
            server.awaitEnd();
        }
    }

    /** Frameworks let requests end in a hook. The transport must not close their connections before. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void connectionsServeUntilTheHooksOfTheServerHaveEnded(boolean bySignal, TestNetwork network) throws Exception {
        VethPair pair = pair(network);
        try (EndingServer server = start(pair, EndingServer.Hooks.SERVING);
                Socket idle = connect(pair, server.port()); Socket last = connect(pair, server.port())) {
            server.end(bySignal);
            server.awaitHooks();
            // The server still accepts connections.
            connect(pair, server.port()).close();
            last.getOutputStream().write(1);
            assertEquals(EndingServer.ANSWER_BYTES, last.getInputStream().readAllBytes().length);
            assertEquals(-1, idle.getInputStream().read(), "the end of an idle connection");
            server.awaitEnd();
        }
    }

    @Test
    void blockedLoopDoesNotPreventTheEnd(TestNetwork network) throws Exception {
        VethPair pair = pair(network);
        try (EndingServer server = start(pair, EndingServer.Hooks.NONE); Socket peer = connect(pair, server.port())) {
            peer.getOutputStream().write(EndingServer.BLOCK);
            server.awaitBlocked();
            server.end(true);
            server.awaitEnd();
        }
    }

    /** The kernel does not know the connection, so it answers the peer's next segment with a reset. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void withoutAnyHookIdlePeerIsResetWhenItSends(boolean bySignal, TestNetwork network) throws Exception {
        VethPair pair = pair(network);
        try (EndingServer server = start(pair, EndingServer.Hooks.NOT_EVEN_OURS);
                Socket idle = connect(pair, server.port())) {
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
