package io.rdmaraw.microbench.server;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;

/** The kinds of requests that wrk sends. HTTP servers are usually compared by these loads. */
enum HttpShape {
    /** Short answers, with one outstanding request on each persistent connection. */
    PLAINTEXT("/plaintext", ""),
    /** Short answers, but every tenth request closes its connection. */
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
    /** Sixteen pipelined requests, as in the plaintext test of TechEmpower. */
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

    /** Returns the name in options and in case names. */
    String text() {
        return name().toLowerCase(Locale.ROOT);
    }

    String path() {
        return path;
    }

    /**
     * Returns a file with a Lua script for wrk, or null if the shape needs none. The file is deleted when the program
     * ends.
     */
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
