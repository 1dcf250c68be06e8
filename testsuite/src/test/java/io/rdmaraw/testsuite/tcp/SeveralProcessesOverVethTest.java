package io.rdmaraw.testsuite.tcp;

import io.rdmaraw.testsuite.net.NetworkNamespace;
import io.rdmaraw.testsuite.net.TestNetwork;
import io.rdmaraw.testsuite.net.VethPair;
import io.rdmaraw.testsuite.net.WithTestNetwork;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.io.IOException;
import java.net.Socket;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

/** Tests several processes on one interface at the same time. */
@Timeout(120)
@WithTestNetwork
class SeveralProcessesOverVethTest {
    private static final int CONNECTIONS = 50;

    private NetworkNamespace clients;
    private String address;

    @AfterEach
    void restore() {
        SoftDevice.restore();
    }

    private ServingProcess start(VethPair pair, SoftDevice kind, int port) {
        return ServingProcess.start(pair.ours().namespace(), kind, pair.ours().name(), address, port);
    }

    private Socket connect(int port) throws Exception {
        return TcpHost.socket(clients, address, port);
    }

    private void echoOnNewConnections(int... ports) throws Exception {
        for (int i = 0; i < CONNECTIONS; i++) {
            for (int port : ports) {
                try (Socket socket = connect(port)) {
                    TcpHost.exchange(socket, "connection " + i + " to " + port);
                }
            }
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"PACKET", "XDP_TAP"})
    void processesServeDifferentPortsOfOneInterface(SoftDevice kind, TestNetwork network) throws Exception {
        VethPair pair = network.withoutCapture().vethPair(network.namespace(), network.namespace());
        clients = pair.peer().namespace();
        address = pair.ours().ipv4();
        try (ServingProcess first = start(pair, kind, 0); ServingProcess second = start(pair, kind, 0)) {
            int one = first.port();
            int two = second.port();
            try (Socket toFirst = connect(one); Socket toSecond = connect(two)) {
                TcpHost.exchange(toFirst, "to the first");
                TcpHost.exchange(toSecond, "to the second");
                echoOnNewConnections(one, two);
                for (ServingProcess server : new ServingProcess[] {first, second}) {
                    assertEquals(CONNECTIONS + 1, server.counter("accepted.connections"));
                    assertEquals(0, server.counter("no-connection"), "segments of the other's connections");
                    assertEquals(0, server.counter("resets.sent"));
                }
                try (ServingProcess third = start(pair, kind, one)) {
                    third.await("refused: Address already in use");
                }
                TcpHost.exchange(toFirst, "after a third was refused");

                first.kill();
                TcpHost.exchange(toSecond, "after the first was killed");
                echoOnNewConnections(two);
                // The port belongs to the kernel again, which answers with resets.
                assertThrows(IOException.class, () -> TcpHost.exchange(toFirst, "to nobody"));
                assertThrows(IOException.class, () -> connect(one).close());
                try (ServingProcess again = start(pair, kind, one)) {
                    assertEquals(one, again.port());
                    echoOnNewConnections(one, two);
                }
                TcpHost.exchange(toSecond, "in the end");
            }
        }
    }
}
