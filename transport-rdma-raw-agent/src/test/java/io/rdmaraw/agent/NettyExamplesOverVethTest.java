package io.rdmaraw.agent;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmaraw.testsuite.net.Await;
import io.rdmaraw.testsuite.net.NetworkNamespace;
import io.rdmaraw.testsuite.net.PeerProcess;
import io.rdmaraw.testsuite.net.TestNetwork;
import io.rdmaraw.testsuite.net.VethPair;
import io.rdmaraw.testsuite.net.WithTestNetwork;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.WebSocket;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * Netty's published examples run with the agent at one end of a veth pair. Their peers at the other end are curl and
 * sockets of the JDK.
 */
@WithTestNetwork
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Timeout(300)
class NettyExamplesOverVethTest {
    private static final String EXAMPLE = "io.netty.example.";
    private static final int ECHO = 8007;
    private static final int DISCARD = 8009;
    private static final int SNOOP = 8081;
    private static final int HELLO = 8082;
    private static final int WEB_SOCKET = 8083;
    private static final int HTTP_2 = 8084;
    private static final int FILES = 8085;
    private static final int TELNET = 8023;
    private static final int QUOTES = 7686;
    private static final int PORT_UNIFICATION = 8086;
    private static final int SOCKS = 1080;
    private static final int PROXY = 8087;
    private static final int LINES_OF_PATHS = 8088;
    private static final int CORS = 8089;
    private static final int FILTERED = 8091;
    private static final int CHAT = 8092;
    private static final int FILES_BY_HTTP_2 = 8093;
    private static final int TILES = 8094;
    private static final int TILES_BY_HTTP_2 = 8095;
    private static final int STOCK_HTTP = 8090;
    /** Length of the content fetched through the proxy, which is short because the proxy may print each byte. */
    private static final int PART_BYTES = 200_000;

    private final List<PeerProcess> processes = new ArrayList<>();
    private NetworkNamespace peer;
    private PeerProcess programs;
    private String ours;
    private String theirs;
    private Path file;
    private byte[] content;

    private static String on(int port, String example) {
        return EXAMPLE + example + ";port=" + port;
    }

    @BeforeAll
    void start(TestNetwork network, @TempDir Path directory) throws IOException {
        VethPair pair = network.vethPair(network.namespace(), network.namespace());
        peer = pair.peer().namespace();
        ours = pair.ours().ipv4();
        theirs = pair.peer().ipv4();
        content = new byte[3 << 20];
        new Random(1).nextBytes(content);
        file = Files.write(directory.resolve("content"), content);
        Files.write(directory.resolve("part"), Arrays.copyOf(content, PART_BYTES));
        processes.add(peer.start("python3", "-m", "http.server", "-d", directory.toString(),
                String.valueOf(STOCK_HTTP)));
        awaitStockServer();
        List<String> jvm = List.of(new AgentJar(directory).option("device=soft:xdp:" + pair.ours().name()),
                "-Duser.dir=" + directory);
        List<String> command = AgentJar.java(jvm, "program.Mains", on(ECHO, "echo.EchoServer"),
                on(DISCARD, "discard.DiscardServer"), on(SNOOP, "http.snoop.HttpSnoopServer"),
                on(HELLO, "http.helloworld.HttpHelloWorldServer"),
                on(WEB_SOCKET, "http.websocketx.server.WebSocketServer"),
                on(HTTP_2, "http2.helloworld.server.Http2Server"), on(FILES, "http.file.HttpStaticFileServer"),
                on(TELNET, "telnet.TelnetServer"),
                on(QUOTES, "qotm.QuoteOfTheMomentServer"),
                on(PORT_UNIFICATION, "portunification.PortUnificationServer"),
                on(SOCKS, "socksproxy.SocksServer"),
                EXAMPLE + "proxy.HexDumpProxy;localPort=" + PROXY + ";remoteHost=" + theirs + ";remotePort="
                        + STOCK_HTTP,
                on(LINES_OF_PATHS, "file.FileServer"), on(CORS, "http.cors.HttpCorsServer"),
                on(FILTERED, "ipfilter.IpSubnetFilterExample"), on(CHAT, "stomp.websocket.StompWebSocketChatServer"),
                on(FILES_BY_HTTP_2, "http2.file.Http2StaticFileServer"),
                EXAMPLE + "http2.tiles.Launcher;http-port=" + TILES + ";http2-port=" + TILES_BY_HTTP_2,
                EXAMPLE + "http.snoop.HttpSnoopClient;url=http://" + theirs + ":" + STOCK_HTTP + "/missing");
        programs = pair.ours().namespace().start(command.toArray(String[]::new));
        processes.add(programs);
        programs.awaitOutput("all started", Await.PATIENCE);
        for (int port : List.of(ECHO, DISCARD, SNOOP, HELLO, WEB_SOCKET, HTTP_2, FILES, TELNET,
                PORT_UNIFICATION, SOCKS, PROXY, LINES_OF_PATHS, CORS, FILTERED, CHAT, FILES_BY_HTTP_2, TILES,
                TILES_BY_HTTP_2)) {
            Await.until("a server on port " + port, Await.PATIENCE.multipliedBy(2), () -> isListening(port));
        }
    }

    private void awaitStockServer() {
        Await.until("the stock server", () -> peer.attempt("curl", "-s", "-m", "2", "http://127.0.0.1:" + STOCK_HTTP)
                .exitCode() == 0);
    }

    private boolean isListening(int port) {
        try (Socket socket = connect(port)) {
            return socket.isConnected();
        } catch (IOException e) {
            return false;
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    @AfterAll
    void end() {
        String output = programs == null ? "" : programs.output();
        processes.reversed().forEach(PeerProcess::close);
        assertFalse(output.contains("LEAK"), output);
    }

    private Socket connect(int port) throws Exception {
        Socket socket = peer.call(() -> new Socket(ours, port));
        socket.setSoTimeout(Await.PATIENCE_MILLIS);
        return socket;
    }

    private String curl(String... arguments) {
        return peer.run(Stream.concat(Stream.of("curl", "-s", "-S", "-m", "30"), Stream.of(arguments))
                .toArray(String[]::new)).output();
    }

    private String url(int port) {
        return "http://" + ours + ":" + port + "/";
    }

    @Test
    void agentReportsTheChangedClasses() {
        String output = programs.output();
        assertTrue(output.contains("rdma-raw agent: on, with Netty 4.2"), output);
        assertFalse(output.contains("left as it is"), output);
    }

    @Test
    void echo() throws Exception {
        byte[] sent = new byte[100_000];
        new Random(2).nextBytes(sent);
        try (Socket socket = connect(ECHO)) {
            Thread writer = Thread.ofPlatform().start(() -> {
                try {
                    socket.getOutputStream().write(sent);
                } catch (IOException e) {
                    throw new IllegalStateException(e);
                }
            });
            assertArrayEquals(sent, socket.getInputStream().readNBytes(sent.length));
            writer.join();
        }
    }

    @Test
    void discard() throws Exception {
        try (Socket socket = connect(DISCARD)) {
            socket.getOutputStream().write(new byte[1 << 20]);
            socket.shutdownOutput();
            assertEquals(-1, socket.getInputStream().read());
        }
    }

    @Test
    void httpServers() {
        assertTrue(curl(url(SNOOP)).contains("WELCOME TO THE WILD WILD WEB SERVER"));
        assertEquals("Hello World", curl(url(HELLO)));
        assertTrue(curl(url(PORT_UNIFICATION)).contains("WELCOME"));
    }

    /** The server sends a region of a file. */
    @Test
    void staticFiles() throws Exception {
        Path fetched = Files.createTempFile("fetched", null);
        try {
            curl("-o", fetched.toString(), url(FILES) + "content");
            assertArrayEquals(content, Files.readAllBytes(fetched));
        } finally {
            Files.delete(fetched);
        }
    }

    @Test
    void http2() {
        assertTrue(curl("--http2-prior-knowledge", url(HTTP_2)).startsWith("Hello World - via HTTP/2"));
        assertTrue(curl("--http2", url(HTTP_2)).startsWith("Hello World - via HTTP/2"));
    }

    @Test
    void webSocket() throws Exception {
        assertEquals("A QUESTION", answerByWebSocket(WEB_SOCKET, "/websocket", "a question"));
    }

    /** STOMP over a WebSocket: the server answers a CONNECT frame. */
    @Test
    void chat() throws Exception {
        String answer = answerByWebSocket(CHAT, "/chat", "CONNECT\naccept-version:1.2\nhost:chat\n\n\0");
        assertTrue(answer.startsWith("CONNECTED\n") && answer.contains("server:Netty-Server"), answer);
    }

    private String answerByWebSocket(int port, String path, String question) throws Exception {
        CompletableFuture<String> answer = new CompletableFuture<>();
        WebSocket.Listener listener = new WebSocket.Listener() {
            private final StringBuilder text = new StringBuilder();

            @Override
            public CompletionStage<?> onText(WebSocket socket, CharSequence data, boolean last) {
                text.append(data);
                if (last) {
                    answer.complete(text.toString());
                }
                socket.request(1);
                return null;
            }

            @Override
            public CompletionStage<?> onBinary(WebSocket socket, ByteBuffer data, boolean last) {
                return onText(socket, StandardCharsets.UTF_8.decode(data), last);
            }
        };
        // The client's threads must belong to the peer's namespace.
        try (ExecutorService threads = Executors.newCachedThreadPool(peer.threadFactory())) {
            WebSocket socket = peer.call(() -> HttpClient.newBuilder().executor(threads).build()
                    .newWebSocketBuilder().subprotocols("v12.stomp").buildAsync(URI.create("ws://" + ours + ":" + port
                            + path), listener).get(Await.PATIENCE_MILLIS, TimeUnit.MILLISECONDS));
            socket.sendText(question, true);
            String text = answer.get(Await.PATIENCE_MILLIS, TimeUnit.MILLISECONDS);
            socket.abort();
            return text;
        }
    }

    /** The proxy reads from one connection only as fast as the other one accepts data. */
    @Test
    void proxy() throws Exception {
        Path fetched = Files.createTempFile("fetched", null);
        try {
            curl("-o", fetched.toString(), url(PROXY) + "part");
            assertArrayEquals(Arrays.copyOf(content, PART_BYTES), Files.readAllBytes(fetched));
        } finally {
            Files.delete(fetched);
        }
    }

    /** The server sends a region of the file named in a line. */
    @Test
    void fileByItsPath() throws Exception {
        try (Socket socket = connect(LINES_OF_PATHS)) {
            socket.getOutputStream().write((file + "\n").getBytes(StandardCharsets.UTF_8));
            String head = "HELLO: Type the path of the file to retrieve.\nOK: " + content.length + "\n";
            assertEquals(head, new String(socket.getInputStream().readNBytes(head.length()),
                    StandardCharsets.US_ASCII));
            assertArrayEquals(content, socket.getInputStream().readNBytes(content.length));
        }
    }

    @Test
    void pagesOfOthers() {
        String head = curl("-i", "-H", "Origin: http://elsewhere.test", url(CORS));
        assertTrue(head.contains("access-control-allow-origin: http://elsewhere.test"), head);
    }

    @Test
    void addressesThatAreNotRefused() throws Exception {
        try (Socket socket = connect(FILTERED)) {
            socket.getOutputStream().write(1);
            programs.awaitOutput("Received data from: /" + theirs, Await.PATIENCE);
        }
    }

    @Test
    void filesByHttp2WithTls() throws Exception {
        Path fetched = Files.createTempFile("fetched", null);
        try {
            curl("-k", "--http2", "-o", fetched.toString(), "https://" + ours + ":" + FILES_BY_HTTP_2 + "/content");
            assertArrayEquals(content, Files.readAllBytes(fetched));
        } finally {
            Files.delete(fetched);
        }
    }

    /** A page of 200 images, fetched with HTTP/2 and, for comparison, without. */
    @Test
    void tiles() {
        String http2 = "https://" + ours + ":" + TILES_BY_HTTP_2 + "/http2?latency=30";
        assertTrue(curl(url(TILES)).contains("A grid of 200 tiled images"));
        assertTrue(curl("-k", "--http2", http2).contains("A grid of 200 tiled images"));
        String all = curl("-k", "--http2", "--parallel", "--no-progress-meter", "-o", "/dev/null",
                "-w", "%{http_code} ", http2 + "&x=[0-19]&y=[0-9]");
        assertEquals(200, all.split("200", -1).length - 1, all);
    }

    @Test
    void telnet() throws Exception {
        try (Socket socket = connect(TELNET)) {
            socket.getOutputStream().write("who\r\nbye\r\n".getBytes(StandardCharsets.US_ASCII));
            String all = new String(socket.getInputStream().readAllBytes(), StandardCharsets.US_ASCII);
            assertTrue(all.contains("Did you say 'who'?") && all.contains("Have a good day!"), all);
        }
    }

    @Test
    void quoteOfTheMoment() throws Exception {
        try (DatagramSocket socket = peer.call(() -> new DatagramSocket())) {
            socket.setSoTimeout(Await.PATIENCE_MILLIS);
            byte[] question = "QOTM?".getBytes(StandardCharsets.US_ASCII);
            socket.send(new DatagramPacket(question, question.length, InetAddress.getByName(ours), QUOTES));
            DatagramPacket answer = new DatagramPacket(new byte[1024], 1024);
            socket.receive(answer);
            String text = new String(answer.getData(), 0, answer.getLength(), StandardCharsets.US_ASCII);
            assertTrue(text.startsWith("QOTM: "), text);
        }
    }

    /** The proxy opens another connection for each one it accepts. */
    @Test
    void socksProxy() {
        assertTrue(curl("--socks5", ours + ":" + SOCKS, "http://" + theirs + ":" + STOCK_HTTP + "/")
                .contains("Directory listing"));
    }

    @Test
    void httpClient() {
        programs.awaitOutput("HttpSnoopClient ended", Await.PATIENCE);
        assertTrue(programs.output().contains("STATUS: 404"), programs.output());
    }
}
