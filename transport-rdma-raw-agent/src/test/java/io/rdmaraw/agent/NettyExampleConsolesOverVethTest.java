package io.rdmaraw.agent;

import io.rdmaraw.testsuite.net.WithTestNetwork;
import org.junit.jupiter.api.Timeout;

import java.util.List;

/** Pairs of Netty's examples in which most clients read from a console. Some clients print less than their servers. */
@WithTestNetwork
@Timeout(300)
class NettyExampleConsolesOverVethTest extends NettyExamplePairs {
    private static final List<Pair> PAIRS = List.of(
            new Pair(8111, "http2.helloworld.multiplex.server.Http2Server",
                    "http2.helloworld.frame.client.Http2FrameClient",
                    "Received HTTP/2 'stream' frame: DefaultHttp2DataFrame").withTls(),
            new Pair(8112, "spdy.server.SpdyServer", "spdy.client.SpdyClient", "spdy.client.SpdyClient ended"),
            new Pair(8113, "telnet.TelnetServer", "telnet.TelnetClient", "Have a good day!", "", "who|bye"),
            new Pair(8114, "securechat.SecureChatServer", "securechat.SecureChatClient", "[you] a word", "",
                    "a word|bye"),
            new Pair(8115, "http.websocketx.server.WebSocketServer", "http.websocketx.client.WebSocketClient",
                    "WebSocket Client received message: A QUESTION", "", "a question"),
            new Pair(8116, "http.websocketx.benchmarkserver.WebSocketServer", "http.websocketx.client.WebSocketClient",
                    "WebSocket Client received pong", "", "ping"),
            // The broker's port is fixed.
            new Pair(1883, "mqtt.heartBeat.MqttHeartBeatBroker", "mqtt.heartBeat.MqttHeartBeatClient", "Sent CONNECT",
                    "clientIdentifier=guestClient", ""),
            // Must be last, because this client reads its port only after its start.
            new Pair(8118, "haproxy.HAProxyServer", "haproxy.HAProxyClient", "haproxy.HAProxyClient ended",
                    "proxy message: HAProxyMessage(protocolVersion: V2, command: PROXY", ""));

    NettyExampleConsolesOverVethTest() {
        super(PAIRS);
    }
}
