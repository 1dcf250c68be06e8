package io.rdmaraw.testsuite.tcp;

import io.rdmaraw.testsuite.net.TestNetwork;
import io.rdmaraw.testsuite.net.VethPair;
import io.rdmaraw.testsuite.net.WithTestNetwork;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.net.Socket;
import java.util.List;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

/** Tests servers on a packet device with few capabilities: a server that reports success must serve its port. */
@Timeout(120)
@WithTestNetwork
class FewCapabilitiesOverVethTest {
    private static final int CONNECTIONS = 20;
    /**
     * Runs a command as root without CAP_NET_ADMIN and CAP_BPF. The remaining capabilities are required to read
     * the class path.
     */
    private static final List<String> NET_RAW_ALONE = List.of("setpriv", "--inh-caps", "-all", "--bounding-set",
            "-all,+net_raw,+dac_override,+dac_read_search", "--no-new-privs");

    @AfterEach
    void restore() {
        SoftDevice.restore();
    }

    /**
     * The kernel sees all frames, and its socket on the port answers them unless a filter prevents this. Linux
     * 6.18 requires CAP_NET_ADMIN for the filter. Without it, the kernel and the transport would reset each
     * other's connections.
     */
    @Test
    void portWithCapNetRawOnlyIsServedExclusivelyOrRefused(TestNetwork network) throws Exception {
        VethPair pair = network.withoutCapture().vethPair(network.namespace(), network.namespace());
        String address = pair.ours().ipv4();
        try (ServingProcess server = ServingProcess.startBy(NET_RAW_ALONE, pair.ours().namespace(), SoftDevice.PACKET,
                pair.ours().name(), address, 0)) {
            String refusal = server.refusal();
            if (!refusal.isEmpty()) {
                assertTrue(refusal.contains("CAP_NET_ADMIN") && refusal.contains("is not served"), refusal);
                return;
            }
            int port = server.port();
            for (int i = 0; i < CONNECTIONS; i++) {
                try (Socket socket = TcpHost.socket(pair.peer().namespace(), address, port)) {
                    TcpHost.exchange(socket, "connection " + i);
                }
            }
            assertEquals(CONNECTIONS, server.counter("accepted.connections"));
            assertEquals(0, server.counter("resets.sent"));
        }
    }
}
