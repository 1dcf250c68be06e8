package io.rdmaraw.microbench.server;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;

/** What wrk asks for, and how: the shapes of load by which HTTP servers are usually compared. */
enum HttpShape {
    /** A short answer, one request at a time on connections that stay. */
    PLAINTEXT("/plaintext", ""),
    /** The same, but each tenth answer is the last of its connection: clients that come, ask a little and go. */
    SHORT("/plaintext", """
            local count, stay, go = 0
            function init(args)
              stay = wrk.format()
              go = wrk.format(nil, nil, {["Connection"] = "close"})
            end
            function request()
              count = count + 1
              return count % 10 == 0 and go or stay
            end
            """),
    /** Sixteen requests at once, as the plaintext test of TechEmpower asks them. */
    PIPELINED("/plaintext", """
            local requests
            function init(args)
              requests = string.rep(wrk.format(), 16)
            end
            function request()
              return requests
            end
            """),
    /** Answers of 64 KB. */
    LARGE("/bytes/65536", "");

    private final String path;
    private final String script;

    HttpShape(String path, String script) {
        this.path = path;
        this.script = script;
    }

    /** Returns its name in options and names of cases. */
    String text() {
        return name().toLowerCase(Locale.ROOT);
    }

    String path() {
        return path;
    }

    /** Returns a file of Lua for wrk, or null where wrk needs none. It is gone when the program ends. */
    Path scriptFileOrNull() {
        if (script.isEmpty()) {
            return null;
        }
        try {
            Path file = Files.writeString(Files.createTempFile("rdma-raw-wrk", ".lua"), script);
            file.toFile().deleteOnExit();
            return file;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
