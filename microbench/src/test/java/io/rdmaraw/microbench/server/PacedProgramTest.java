package io.rdmaraw.microbench.server;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.rdmaraw.microbench.server.LoadGenerator.Load;
import io.rdmaraw.tools.command.ToolException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Runs the paced client against servers that are fast, slow or silent. */
@Timeout(60)
class PacedProgramTest {
    private static final Path PROGRAM = Path.of("target/native/paced-bench");
    private static final double SECONDS = 0.3;
    private static final int RATE = 1_000;
    private static final int FULL_SPEED = 0;
    private static final int DNS_HEADER_BYTES = 12;
    private static final int PATIENCE_SECONDS = 20;
    /** Time for the answers before a server falls silent. The client then waits in vain for as long. */
    private static final int SILENCE_SECONDS = 5;

    @BeforeAll
    static void theProgramIsBuilt() {
        assumeTrue(Files.isExecutable(PROGRAM), "the C programs have not been built here");
    }

    /** Decides whether a request is answered, and when. */
    private interface Server {
        /** Waits until the answer is due. Returns false if there is no answer. */
        boolean mayAnswer(int number) throws InterruptedException;
    }

    private static final class Connections {
        private final AtomicInteger opened = new AtomicInteger();
        private final AtomicInteger requests = new AtomicInteger();

        void serve(RequestKind kind, Socket connection, Server server) {
            opened.incrementAndGet();
            try (connection; InputStream in = connection.getInputStream()) {
                OutputStream out = connection.getOutputStream();
                connection.setTcpNoDelay(true);
                byte[] buffer = new byte[1024];
                for (int n = in.read(buffer); n > 0; n = in.read(buffer)) {
                    String request = new String(buffer, 0, n, ISO_8859_1);
                    if (isHello(request)) {
                        String hello = kind == RequestKind.REDIS ? "+OK\r\n" : "HTTP/1.1 101 x\r\n\r\n";
                        out.write(hello.getBytes(US_ASCII));
                    } else if (server.mayAnswer(requests.getAndIncrement())) {
                        out.write(answer(kind).getBytes(ISO_8859_1));
                    }
                    if (request.contains("Connection: close")) {
                        return;
                    }
                }
            } catch (IOException | InterruptedException end) {
                // The client went away.
            }
        }

        private static boolean isHello(String request) {
            return request.contains("SET") || request.contains("Upgrade: websocket");
        }

        private static String answer(RequestKind kind) {
            return switch (kind) {
                case REDIS -> "$3\r\nxxx\r\n";
                case WEBSOCKET -> "\u0081@" + "x".repeat(64);
                default -> "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
            };
        }
    }

    /** Asks a server that answers everything. The client waits for answers for as long as a busy machine needs. */
    private static Load ask(RequestKind kind, int connections, int rate, Server server) throws Exception {
        return ask(kind, connections, rate, server, PATIENCE_SECONDS);
    }

    private static Load ask(RequestKind kind, int connections, int rate, Server server, int graceSeconds)
            throws Exception {
        return kind == RequestKind.DNS ? askDatagrams(connections, rate, server, graceSeconds)
                : askStreams(new Connections(), kind, connections, rate, server, graceSeconds);
    }

    private static Load askStreams(Connections served, RequestKind kind, int connections, int rate, Server server,
            int graceSeconds) throws Exception {
        try (ServerSocket listener = new ServerSocket(0, connections, InetAddress.getLoopbackAddress())) {
            Thread.ofVirtual().start(() -> {
                try {
                    while (true) {
                        Socket connection = listener.accept();
                        Thread.ofVirtual().start(() -> served.serve(kind, connection, server));
                    }
                } catch (IOException closed) {
                    // The test is over.
                }
            });
            return run(kind, listener.getLocalPort(), connections, rate, graceSeconds);
        }
    }

    private static Load askDatagrams(int connections, int rate, Server server, int graceSeconds) throws Exception {
        try (DatagramSocket socket = new DatagramSocket(0, InetAddress.getLoopbackAddress())) {
            Thread.ofVirtual().start(() -> {
                byte[] buffer = new byte[512];
                DatagramPacket packet = new DatagramPacket(buffer, buffer.length);
                try {
                    for (int number = 0;; number++) {
                        packet.setLength(buffer.length);
                        socket.receive(packet);
                        if (server.mayAnswer(number)) {
                            // A response with one answer.
                            buffer[2] |= (byte) 0x80;
                            buffer[7] = 1;
                            packet.setData(buffer, 0, Math.max(DNS_HEADER_BYTES, packet.getLength()));
                            socket.send(packet);
                            packet.setData(buffer);
                        }
                    }
                } catch (IOException | InterruptedException closed) {
                    // The test is over.
                }
            });
            return run(RequestKind.DNS, socket.getLocalPort(), connections, rate, graceSeconds);
        }
    }

    private static Load run(RequestKind kind, int port, int connections, int rate, int graceSeconds)
            throws Exception {
        Process client = new ProcessBuilder(List.of(PROGRAM.toString(), "--kind", kind.text(), "--address", "127.0.0.1",
                "--port", Integer.toString(port), "--connections", Integer.toString(connections), "--rate",
                Integer.toString(rate), "--seconds", Double.toString(SECONDS), "--grace",
                Integer.toString(graceSeconds))).redirectErrorStream(true).start();
        String output = new String(client.getInputStream().readAllBytes(), US_ASCII);
        assertEquals(0, client.waitFor(), output);
        return PacedReport.read(output, SECONDS, 0);
    }

    @ParameterizedTest
    @EnumSource(RequestKind.class)
    void everyScheduledRequestIsAnswered(RequestKind kind) throws Exception {
        Load load = ask(kind, 8, RATE, _ -> true);
        assertAllAnswered(kind, load);
        assertEquals(RATE * SECONDS, load.answers() + load.lost(), RATE * SECONDS / 4,
                "the schedule is the same each time");
    }

    @ParameterizedTest
    @EnumSource(RequestKind.class)
    void atFullSpeedTheAnswersSetTheRate(RequestKind kind) throws Exception {
        AtomicInteger answered = new AtomicInteger();
        Load load = ask(kind, 1, FULL_SPEED, _ -> {
            answered.incrementAndGet();
            return true;
        });
        assertAllAnswered(kind, load);
        assertTrue(load.answers() > 1 && load.answers() <= answered.get(), answered + " answers, " + load);
    }

    /**
     * Asserts that no request was lost. DNS is exempt: on a busy machine an answer may take so long that it counts as
     * lost.
     */
    private static void assertAllAnswered(RequestKind kind, Load load) {
        if (kind != RequestKind.DNS) {
            assertEquals(0, load.lost());
        }
    }

    @Test
    void everyTenthShortRequestClosesItsConnection() throws Exception {
        Connections served = new Connections();
        Load load = askStreams(served, RequestKind.HTTP_SHORT, 2, RATE, _ -> true, PATIENCE_SECONDS);
        assertEquals(0, load.lost());
        int enough = (int) load.answers() / 10;
        assertTrue(served.opened.get() >= enough && served.opened.get() <= enough + 2,
                served.opened + " connections for " + load);
    }

    /** A client without a schedule would report a single slow answer, because it would delay all further requests. */
    @Test
    void aStallOfTheServerIsChargedToAllRequestsThatItDelays() throws Exception {
        Load load = ask(RequestKind.HTTP, 1, RATE, number -> {
            TimeUnit.NANOSECONDS.sleep(number == 0 ? (long) (SECONDS * 1e9) : 0);
            return true;
        });
        assertEquals(0, load.lost());
        assertTrue(load.figures().get(Measure.P50) > SECONDS * 1e6 / 4, load.toString());
    }

    @Test
    void requestsThatCannotBeSentAreLost() throws Exception {
        Load load = ask(RequestKind.HTTP, 2, RATE, number -> number < 20, SILENCE_SECONDS);
        assertEquals(20, load.answers());
        assertTrue(load.lost() > 100, load.toString());
        assertThrows(ToolException.class, () -> ask(RequestKind.HTTP, 1, RATE, _ -> false, 0));
    }

    @Test
    void socketOfALostDatagramSendsTheNextRequest() throws Exception {
        Load load = ask(RequestKind.DNS, 1, RATE, number -> number > 0);
        assertTrue(load.lost() >= 1 && load.answers() > 0, load.toString());
    }
}
