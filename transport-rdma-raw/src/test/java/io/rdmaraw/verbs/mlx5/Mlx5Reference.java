package io.rdmaraw.verbs.mlx5;

import io.rdmaraw.ffi.CReference;
import java.nio.file.Path;

/** The C program {@code reference.c}, which builds requests and completions with the structures of the header. */
final class Mlx5Reference {
    private static final CReference PROGRAM = start();

    private Mlx5Reference() {
    }

    static String ask(String question) {
        return PROGRAM.ask(question);
    }

    private static CReference start() {
        try {
            return new CReference(Path.of(Mlx5Reference.class.getResource("reference.c").toURI()));
        } catch (Exception e) {
            throw new AssertionError(e);
        }
    }
}
