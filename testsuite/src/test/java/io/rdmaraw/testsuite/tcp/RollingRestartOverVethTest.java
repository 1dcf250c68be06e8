package io.rdmaraw.testsuite.tcp;

import io.rdmaraw.testsuite.net.NetworkNamespace;
import io.rdmaraw.testsuite.net.TestNetwork;
import io.rdmaraw.testsuite.net.VethPair;
import io.rdmaraw.testsuite.net.WithTestNetwork;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.nio.file.Path;
import java.util.List;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

/** A server is restarted while clients ask it. */
@Timeout(300)
@WithTestNetwork
class RollingRestartOverVethTest {
    private static final int PORT = 7400;
    private static final int RESTARTS = 10;
    private static final int REQUESTS_OF_EACH = 200;

    @TempDir
    private Path directory;
    private VethPair pair;
    private NetworkNamespace clients;
    private String address;

    @AfterEach
    void restore() {
        SoftDevice.restore();
    }

    private void prepare(TestNetwork network) {
        pair = network.withoutCapture().vethPair(network.namespace(), network.namespace());
        clients = pair.peer().namespace();
        address = pair.ours().ipv4();
    }

    private RestartedServer start(SoftDevice kind, String killedAt) {
        return RestartedServer.start(pair.ours().namespace(), kind, pair.ours().name(), address, PORT,
                directory.resolve("takeover.sock"), killedAt);
    }

    @ParameterizedTest
    @EnumSource(names = {"PACKET"})
    void tenRestartsWithoutAFailedRequest(SoftDevice kind, TestNetwork network) {
        prepare(network);
        RestartedServer serving = start(kind, "").await(RestartedServer.SERVES);
        try (RequestLoad load = RequestLoad.start(clients, address, PORT)) {
            for (int i = 0; i < RESTARTS; i++) {
                load.awaitMore(REQUESTS_OF_EACH);
                RestartedServer before = serving;
                serving = start(kind, "");
                serving.await(RestartedServer.SERVES);
                before.await(RestartedServer.HANDED_OVER);
                assertEquals(0, before.awaitEnd(), before::output);
                assertTrue(before.output().contains(RestartedServer.DRAINED), before::output);
                assertEquals(List.of(), load.failures(), "failures of " + load.requests() + " requests, restart " + i);
            }
            load.awaitMore(REQUESTS_OF_EACH);
            load.end();
            assertEquals(List.of(), load.failures(), "failures of " + load.requests() + " requests");
            System.out.println(load.requests() + " requests, " + RESTARTS + " restarts, no failure");
        } finally {
            serving.close();
        }
    }
}
