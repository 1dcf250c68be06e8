package io.rdmaraw.examples.server;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.rdmaraw.examples.Main;
import io.rdmaraw.testsuite.net.Await;
import io.rdmaraw.testsuite.net.PeerProcess;
import io.rdmaraw.testsuite.net.ProgramOverVeth;
import io.rdmaraw.testsuite.net.TestNetwork;
import io.rdmaraw.testsuite.net.WithTestNetwork;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.net.Socket;

/** {@code kill -TERM} of an example server ends the streams of idle clients. */
@Timeout(120)
@WithTestNetwork
class EndOfServerTest {
    private static final int PORT = 7000;

    private static Socket connect(ProgramOverVeth program) throws Exception {
        Socket socket = program.peer().call(() -> new Socket(program.address(), PORT));
        socket.setSoTimeout(Await.PATIENCE_MILLIS);
        return socket;
    }

    @ParameterizedTest
    @ValueSource(strings = {"echo", "http", "redis"})
    void idleClientReadsTheEnd(String server, TestNetwork network) throws Exception {
        ProgramOverVeth program = new ProgramOverVeth(network);
        try (PeerProcess running = program.start(Main.class.getName(), "is listening on", server, "--device",
                program.device(), "--address", program.address(), "--port", String.valueOf(PORT));
                Socket first = connect(program); Socket idle = connect(program)) {
            // The server has loaded its classes when it has served a client.
            first.shutdownOutput();
            assertEquals(-1, first.getInputStream().read());
            ProcessHandle.of(running.pid()).orElseThrow().destroy();
            assertEquals(-1, idle.getInputStream().read());
            running.await(Await.PATIENCE);
        }
    }
}
