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

/** Servers on a packet device that may do little: what they say they serve, they serve. */
@Timeout(120)
@WithTestNetwork
class FewCapabilitiesOverVethTest {
    private static final int CONNECTIONS = 20;
    /** Of root without CAP_NET_ADMIN and CAP_BPF; the others are for reading the class path. */
    private static final List<String> NET_RAW_ALONE = List.of("setpriv", "--inh-caps", "-all", "--bounding-set",
            "-all,+net_raw,+dac_override,+dac_read_search", "--no-new-privs");

    @AfterEach
    void restore() {
        SoftDevice.restore();
    }

    /**
     * The kernel sees all frames, and its socket of the port answers them unless a filter keeps it quiet. Linux 6.18
     * wants CAP_NET_ADMIN for that: then each connection would be reset by one of the two.
     */
    @Test
    void withNetRawAloneAPortIsServedWithoutTheKernelOrNotAtAll(TestNetwork network) throws Exception {
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
