package io.rdmaraw.testsuite.tcp;

import io.rdmaraw.testsuite.leak.LeakExtension;
import io.rdmaraw.testsuite.net.Await;
import io.rdmaraw.testsuite.net.TestNetwork;
import io.rdmaraw.testsuite.net.WithTestNetwork;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;

import static org.junit.jupiter.api.Assertions.assertEquals;

/** Opens ten thousand connections of the kernel at the same time, uses them and closes them in different ways. */
@Timeout(180)
@WithTestNetwork
@ExtendWith(LeakExtension.class)
class ManyConnectionsOverVethTest {
    private static final int CONNECTIONS = 10_000;
    private static final int AT_ONCE = 500;

    @ParameterizedTest
    @ValueSource(strings = {"packet", "xdp"})
    void tenThousandConnectionsLeaveNothingBehind(String provider, TestNetwork network) throws Exception {
        try (EchoFixture fixture = new EchoFixture(network.withoutCapture(), provider)) {
            List<Socket> sockets = fixture.pair().peer().namespace().call(() -> open(fixture));
            try {
                Await.until("every connection to have a channel", () -> fixture.children().size() == CONNECTIONS);
                assertEquals(CONNECTIONS, fixture.tcp("connections"));
                for (int i = 0; i < CONNECTIONS; i++) {
                    EchoFixture.exchange(sockets.get(i), 10, i);
                }
                for (int i = 0; i < CONNECTIONS; i += AT_ONCE) {
                    close(sockets.subList(i, i + AT_ONCE));
                    int left = CONNECTIONS - i - AT_ONCE;
                    Await.until("all but " + left + " channels to close", () -> fixture.children().size() == left);
                }
            } finally {
                close(sockets);
            }
            Await.until("every connection to end", () -> fixture.tcp("connections") == 0);
            assertEquals(CONNECTIONS, fixture.tcp("accepted.connections"));
            assertEquals(0, fixture.tcp("accept-queue-full"));
            assertEquals(0, fixture.tcp("connection-timeouts"));
        }
    }

    private static List<Socket> open(EchoFixture fixture) throws IOException {
        List<Socket> sockets = new ArrayList<>();
        try {
            for (int i = 0; i < CONNECTIONS; i++) {
                sockets.add(fixture.connectHere());
            }
            return sockets;
        } catch (IOException e) {
            close(sockets);
            throw e;
        }
    }

    /** Closes by FIN, by RST, and by FIN with an unread response. Sockets that are already closed are skipped. */
    private static void close(List<Socket> sockets) throws IOException {
        for (int i = 0; i < sockets.size(); i++) {
            Socket socket = sockets.get(i);
            if (socket.isClosed()) {
                continue;
            }
            if (i % 3 == 0) {
                socket.setSoLinger(true, 0);
            } else if (i % 3 == 1) {
                socket.getOutputStream().write(i);
            }
            socket.close();
        }
    }
}
