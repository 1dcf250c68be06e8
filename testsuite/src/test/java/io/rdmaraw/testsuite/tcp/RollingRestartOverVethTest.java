package io.rdmaraw.testsuite.tcp;

import io.rdmaraw.net.IpAddress;
import io.rdmaraw.net.socket.ServerDescriptor;
import io.rdmaraw.takeover.TakeoverConnection;
import io.rdmaraw.takeover.TakeoverMessage;
import io.rdmaraw.takeover.TakeoverSocket;
import io.rdmaraw.testsuite.net.Await;
import io.rdmaraw.testsuite.net.NetworkNamespace;
import io.rdmaraw.testsuite.net.TestNetwork;
import io.rdmaraw.testsuite.net.VethPair;
import io.rdmaraw.testsuite.net.WithTestNetwork;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.channels.ServerSocketChannel;
import java.nio.file.Path;
import java.util.List;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

/** Restarts a server while clients use it. */
@Timeout(300)
@WithTestNetwork
class RollingRestartOverVethTest {
    private static final int PORT = 7400;
    /**
     * Each restart takes the start of a JVM on a busy machine. Use {@code -Dio.rdmaraw.test.restarts=10} for more
     * restarts.
     */
    private static final int RESTARTS = Integer.getInteger("io.rdmaraw.test.restarts", 4);
    private static final int REQUESTS_OF_EACH = 200;
    private static final int NEW_CONNECTIONS = 20;
    /** Exit code that Java reports for signal 9. */
    private static final int KILLED = 128 + 9;

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
        // If the restarts take long, the clients open more connections within TIME-WAIT than there are ports.
        clients.run("sysctl", "-qw", "net.ipv4.tcp_tw_reuse=1");
        address = pair.ours().ipv4();
    }

    private RestartedServer start(SoftDevice kind, String killedAt) {
        return start(kind, killedAt, false);
    }

    private RestartedServer start(SoftDevice kind, String killedAt, boolean boss) {
        return RestartedServer.start(pair.ours().namespace(), kind, pair.ours().name(), address, PORT,
                directory.resolve("takeover.sock"), killedAt, boss);
    }

    /** With a boss loop, the port of each process also moves to other loops, perhaps during the takeover. */
    @ParameterizedTest
    @CsvSource({"PACKET,false", "PACKET,true", "XDP_TAP,true"})
    void rollingRestartsFailNoRequest(SoftDevice kind, boolean boss, TestNetwork network) {
        prepare(network);
        RestartedServer serving = start(kind, "", boss).await(RestartedServer.SERVES);
        try (RequestLoad load = RequestLoad.start(clients, address, PORT)) {
            for (int i = 0; i < RESTARTS; i++) {
                load.awaitMore(REQUESTS_OF_EACH);
                RestartedServer before = serving;
                serving = start(kind, "", boss);
                serving.await(RestartedServer.SERVES);
                before.await(RestartedServer.HANDED_OVER);
                assertEquals(0, before.awaitEnd(), before::output);
                assertTrue(before.output().contains(RestartedServer.DRAINED), before::output);
                assertEquals(List.of(), load.failures(), "failures of " + load.requests() + " requests, restart " + i);
            }
            load.awaitMore(REQUESTS_OF_EACH);
            load.end();
            assertEquals(List.of(), load.failures(), "failures of " + load.requests() + " requests");
            System.out.println(kind + (boss ? " with a boss loop: " : ": ")
                    + load.requests() + " requests, " + RESTARTS + " restarts, no failure");
        } finally {
            serving.close();
        }
    }

    private void echoOnNewConnections(String what) throws Exception {
        for (int i = 0; i < NEW_CONNECTIONS; i++) {
            try (Socket socket = TcpHost.socket(clients, address, PORT)) {
                TcpHost.exchange(socket, what + ", connection " + i);
            }
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"offers its ports", "opens no more connections", "serves the ports now"})
    void successorServesAfterPredecessorIsKilled(String step, TestNetwork network) throws Exception {
        prepare(network);
        try (RestartedServer killed = start(SoftDevice.PACKET, step).await(RestartedServer.SERVES);
                Socket before = TcpHost.socket(clients, address, PORT)) {
            TcpHost.exchange(before, "before");
            try (RestartedServer successor = start(SoftDevice.PACKET, "").await(RestartedServer.SERVES)) {
                assertEquals(KILLED, killed.awaitEnd(), killed::output);
                echoOnNewConnections("after the predecessor was killed");
                // The killed process's connections are gone, and their peers receive a reset.
                assertThrows(IOException.class, () -> TcpHost.exchange(before, "after"));
                try (RestartedServer next = start(SoftDevice.PACKET, "").await(RestartedServer.SERVES)) {
                    assertEquals(0, successor.awaitEnd(), successor::output);
                    echoOnNewConnections("after the next restart");
                    assertNotNull(next);
                }
            }
        }
    }

    @ParameterizedTest
    @CsvSource({"PACKET,offers [", "PACKET,taken over from", "PACKET,serves what", "PACKET,''", "XDP_TAP,serves what",
        "XDP_TAP,''"})
    void predecessorServesAfterSuccessorIsKilled(SoftDevice kind, String step, TestNetwork network)
            throws Exception {
        prepare(network);
        try (RestartedServer predecessor = start(kind, "").await(RestartedServer.SERVES);
                Socket before = TcpHost.socket(clients, address, PORT)) {
            TcpHost.exchange(before, "before");
            try (RestartedServer killed = start(kind, step)) {
                if (step.isEmpty()) {
                    killed.await(RestartedServer.SERVES);
                    predecessor.await(RestartedServer.HANDED_OVER);
                    TcpHost.exchange(before, "while it drains");
                    killed.kill();
                    predecessor.await(RestartedServer.RESUMED);
                } else {
                    assertEquals(KILLED, killed.awaitEnd(), killed::output);
                }
            }
            echoOnNewConnections("after the successor was killed");
            TcpHost.exchange(before, "after");
            try (RestartedServer next = start(kind, "").await(RestartedServer.SERVES)) {
                TcpHost.exchange(before, "while it drains again");
                before.shutdownOutput();
                assertEquals(-1, before.getInputStream().read(), "the end of the connection");
                predecessor.await(RestartedServer.DRAINED);
                assertEquals(0, predecessor.awaitEnd(), predecessor::output);
                echoOnNewConnections("after the next restart");
                assertNotNull(next);
            }
        }
    }

    /**
     * The stopped successor holds the ports that the predecessor waits for. The predecessor waits only for a
     * limited time.
     */
    @Test
    void predecessorServesWhileSuccessorIsStopped(TestNetwork network) throws Exception {
        prepare(network);
        try (RestartedServer predecessor = start(SoftDevice.PACKET, "").await(RestartedServer.SERVES);
                RestartedServer stopped = start(SoftDevice.PACKET, "STOP:taken over from")) {
            predecessor.await("has not taken over the ports");
            echoOnNewConnections("while the successor is stopped");
            stopped.signal("CONT");
            stopped.await("refused: process");
            assertTrue(stopped.output().contains("serves again"), stopped::output);
            assertEquals(1, stopped.awaitEnd());
            echoOnNewConnections("after the successor has ended");
        }
    }

    private static TakeoverConnection accept(TakeoverSocket takeoverSocket) throws IOException {
        TakeoverConnection accepted = takeoverSocket.accept(Await.PATIENCE.toNanos());
        assertNotNull(accepted, "a successor");
        return accepted;
    }

    /**
     * The test is the predecessor. It closes the connection before the successor serves, as if the message about this
     * was lost. The successor connects again, is refused, and must exit.
     */
    @Test
    void successorEndsIfPredecessorServesAgain(TestNetwork network) throws Exception {
        prepare(network);
        try (ServerSocketChannel kernel = ServerSocketChannel.open();
                TakeoverSocket takeoverSocket = TakeoverSocket.open(directory.resolve("takeover.sock"))) {
            int descriptor = ServerDescriptor.find(kernel);
            kernel.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
            try (RestartedServer successor = start(SoftDevice.PACKET, "")) {
                try (TakeoverConnection connection = accept(takeoverSocket)) {
                    connection.receive(Await.PATIENCE.toNanos());
                    TakeoverMessage.Port port = new TakeoverMessage.Port(SoftDevice.PACKET.on(pair.ours().name()),
                            IpAddress.parse(address), PORT);
                    connection.send(new TakeoverMessage.Offer(1, 2, 3, 4, System.nanoTime(), List.of(port)),
                            List.of(descriptor));
                    assertInstanceOf(TakeoverMessage.Take.class, connection.receive(Await.PATIENCE.toNanos()));
                    acceptsFromKernel(kernel, "the successor is bound, and does not serve yet");
                }
                try (TakeoverConnection asked = accept(takeoverSocket)) {
                    asked.receive(Await.PATIENCE.toNanos());
                    asked.send(new TakeoverMessage.Refusal("it serves"));
                }
                successor.await("refused: process");
                assertTrue(successor.output().contains("serves again"), successor::output);
                assertEquals(1, successor.awaitEnd());
            }
        }
    }

    private static void acceptsFromKernel(ServerSocketChannel kernel, String what) throws IOException {
        kernel.socket().setSoTimeout(Await.PATIENCE_MILLIS);
        InetSocketAddress local = (InetSocketAddress) kernel.getLocalAddress();
        try (Socket client = new Socket(local.getAddress(), local.getPort());
                Socket accepted = kernel.socket().accept()) {
            assertEquals(client.getLocalPort(), accepted.getPort(), what);
        }
    }

    @Test
    void exclusiveModeIsRefusedWithAlternatives(TestNetwork network) {
        prepare(network);
        try (RestartedServer server = start(SoftDevice.XDP_GENERIC, "")) {
            server.await("refused: ");
            assertTrue(server.output().contains("soft:packet:NETDEV"), server::output);
        }
    }
}
