package io.rdmaraw.microbench.server;

import io.rdmaraw.examples.server.OptionNames;

/** Parses the names of shapes in the options of commands. */
final class HttpShapes extends OptionNames<HttpShape> {
    private static final long serialVersionUID = 1L;

    /** Called by picocli. */
    HttpShapes() {
        super(HttpShape.values(), HttpShape::text);
    }
}
