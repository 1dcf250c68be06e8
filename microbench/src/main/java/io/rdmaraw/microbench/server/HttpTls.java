package io.rdmaraw.microbench.server;

import io.rdmaraw.examples.server.OptionNames;
import io.rdmaraw.tools.server.ServerNetwork;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** Who does the TLS of an HTTP server, if it has any. */
enum HttpTls {
    NONE, JDK, OPENSSL;

    /** Returns its name in options. */
    String text() {
        return name().toLowerCase(Locale.ROOT);
    }

    /** Returns what the names of cases begin with. */
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

    /** The names in options of commands. */
    static final class Names extends OptionNames<HttpTls> {
        private static final long serialVersionUID = 1L;

        /** picocli creates it. */
        Names() {
            super(values(), HttpTls::text);
        }
    }
}
