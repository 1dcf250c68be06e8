package io.rdmaraw.microbench.server;

import io.rdmaraw.examples.server.OptionNames;
import io.rdmaraw.tools.server.ServerNetwork;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** The TLS engine of an HTTP server. */
enum HttpTls {
    NONE, JDK, OPENSSL;

    /** Returns the name in options. */
    String text() {
        return name().toLowerCase(Locale.ROOT);
    }

    /** Returns the prefix of case names. */
    String casePrefix() {
        return this == NONE ? "http." : "https." + text() + '.';
    }

    String scheme() {
        return this == NONE ? "http" : "https";
    }

    List<String> serverCommand() {
        if (this == NONE) {
            return ServerNetwork.exampleCommand("http");
        }
        List<String> command = new ArrayList<>(ServerNetwork.exampleCommand("http2"));
        command.addAll(List.of("--engine", text()));
        return command;
    }

    /** Parses the names in the options of commands. */
    static final class Names extends OptionNames<HttpTls> {
        private static final long serialVersionUID = 1L;

        /** Called by picocli. */
        Names() {
            super(values(), HttpTls::text);
        }
    }
}
