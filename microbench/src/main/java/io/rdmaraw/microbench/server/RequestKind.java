package io.rdmaraw.microbench.server;

import io.rdmaraw.examples.server.OptionNames;
import io.rdmaraw.tools.server.ServerNetwork;
import java.util.List;
import java.util.Locale;

/** The kinds of requests of the polling client and the paced client. */
enum RequestKind {
    /** HTTP requests with short answers on persistent connections. */
    HTTP("http", ""),
    /** HTTP requests with short answers. Every tenth request closes its connection, and the next one opens another. */
    HTTP_SHORT("http", ".short"),
    /** {@code GET} requests for a value of three bytes. */
    REDIS("redis", ""),
    /** WebSocket messages of 64 bytes, which the server echoes. */
    WEBSOCKET("websocket", ""),
    /** DNS queries. The number of connections is the number of outstanding queries. */
    DNS("dns", "");

    private final String example;
    private final String caseSuffix;

    RequestKind(String example, String caseSuffix) {
        this.example = example;
        this.caseSuffix = caseSuffix;
    }

    /** Returns the name in options, including those of the C client. */
    String text() {
        return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    List<String> serverCommand() {
        return ServerNetwork.exampleCommand(example);
    }

    /**
     * Returns the prefix of case names.
     *
     * @param client name of the client, such as {@code polled}
     */
    String caseName(String client) {
        return example + '.' + client + caseSuffix;
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

    /** Parses the names in the options of commands. */
    static final class Names extends OptionNames<RequestKind> {
        private static final long serialVersionUID = 1L;

        /** Called by picocli. */
        Names() {
            super(RequestKind.values(), RequestKind::text);
        }
    }
}
