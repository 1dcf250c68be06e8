package io.rdmaraw.microbench.server;

import io.rdmaraw.examples.server.OptionNames;

/** The names of shapes in options of commands. */
final class HttpShapes extends OptionNames<HttpShape> {
    private static final long serialVersionUID = 1L;

    /** picocli creates it. */
    HttpShapes() {
        super(HttpShape.values(), HttpShape::text);
    }
}
