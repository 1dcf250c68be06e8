package io.rdmaraw.microbench.server;

import io.rdmaraw.examples.server.OptionNames;
import io.rdmaraw.tools.server.ServerNetwork;
import java.util.List;
import java.util.Locale;

/** What a client that never sleeps asks for. */
enum PolledKind {
    HTTP("http", "http.polled"),
    /** The same, but each tenth answer is the last of its connection, and another connection takes its place. */
    HTTP_SHORT("http", "http.polled.short"),
    /** Redis' GET of three bytes. */
    REDIS("redis", "redis.polled"),
    /** A text of 64 bytes that a WebSocket server sends back. */
    WEBSOCKET("websocket", "websocket.polled"),
    /** DNS questions by one socket; the number of connections is that of questions under way. */
    DNS("dns", "dns.polled");

    private final String example;
    private final String caseName;

    PolledKind(String example, String caseName) {
        this.example = example;
        this.caseName = caseName;
    }

    String text() {
        return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    List<String> serverCommand() {
        return ServerNetwork.exampleCommand(example);
    }

    String caseName() {
        return caseName;
    }

    PolledClient newClient(String address, int port) {
        return switch (this) {
            case HTTP -> new PolledStreams(Conversation.http(address, port));
            case HTTP_SHORT -> new PolledStreams(Conversation.shortHttp(address, port));
            case REDIS -> new PolledStreams(Conversation.redis());
            case WEBSOCKET -> new PolledStreams(Conversation.websocket(address, port));
            case DNS -> new PolledDatagrams();
        };
    }

    /** The names in options of commands. */
    static final class Names extends OptionNames<PolledKind> {
        private static final long serialVersionUID = 1L;

        /** picocli creates it. */
        Names() {
            super(PolledKind.values(), PolledKind::text);
        }
    }
}
