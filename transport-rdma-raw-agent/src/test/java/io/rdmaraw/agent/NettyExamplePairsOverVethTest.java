package io.rdmaraw.agent;

import static org.junit.jupiter.api.Assertions.assertFalse;

import io.rdmaraw.testsuite.net.Await;
import io.rdmaraw.testsuite.net.PeerProcess;
import io.rdmaraw.testsuite.net.WithTestNetwork;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.util.List;
import java.util.stream.Stream;

/** Pairs of Netty's examples that need no input. */
@WithTestNetwork
@Timeout(300)
class NettyExamplePairsOverVethTest extends NettyExamplePairs {
    private static final List<Pair> PAIRS = List.of(
            new Pair(8101, "echo.EchoServer", "echo.EchoClient", null),
            new Pair(8102, "discard.DiscardServer", "discard.DiscardClient", null),
            new Pair(8103, "objectecho.ObjectEchoServer", "objectecho.ObjectEchoClient", null),
            new Pair(8104, "factorial.FactorialServer", "factorial.FactorialClient", "factorial.FactorialClient ended"),
            new Pair(8105, "worldclock.WorldClockServer", "worldclock.WorldClockClient", "Europe/"),
            new Pair(8107, "uptime.UptimeServer", "uptime.UptimeClient", "Connected to: "),
            new Pair(8108, "http.upload.HttpUploadServer", "http.upload.HttpUploadClient", "HttpUploadClient ended"),
            new Pair(8109, "http2.helloworld.server.Http2Server", "http2.helloworld.client.Http2Client",
                    " received---"),
            // Without TLS, the client uses HTTP/2 and the server HTTP/1.1.
            new Pair(8110, "http2.helloworld.frame.server.Http2Server",
                    "http2.helloworld.frame.client.Http2FrameClient",
                    "Received HTTP/2 'stream' frame: DefaultHttp2DataFrame").withTls());

    NettyExamplePairsOverVethTest() {
        super(PAIRS);
    }

    /**
     * Clients without output: the peer's kernel counts the acknowledged bytes of each connection, as client and as
     * server.
     */
    @Test
    void clientsThatNeverEnd() {
        List<Pair> endless = PAIRS.stream().filter(pair -> pair.says() == null).toList();
        try (PeerProcess stock = runStockClients(endless); PeerProcess withAgent = runClientsWithAgent(endless)) {
            for (String side : List.of("dport", "sport")) {
                for (Pair pair : endless) {
                    Await.until("bytes by " + side + ' ' + pair.port(), () -> bytesAcked(side, pair.port()) > 1_000);
                }
            }
            assertFalse((stock.output() + withAgent.output()).contains(" failed"));
        }
    }

    private long bytesAcked(String side, int port) {
        String sockets = peer.run("ss", "-Htin", "state", "established", side, "=", ":" + port).output();
        return Stream.of(sockets.split("\\s+")).filter(word -> word.startsWith("bytes_acked:")
                || word.startsWith("bytes_received:"))
                .mapToLong(word -> Long.parseLong(word.substring(word.indexOf(':') + 1))).sum();
    }
}
