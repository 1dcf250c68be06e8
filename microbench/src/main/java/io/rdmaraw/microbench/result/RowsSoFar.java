package io.rdmaraw.microbench.result;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;

/**
 * Keeps the rows that a bench has measured so far, in case it is interrupted. They are also written to a file. Another
 * process reads that file if the bench fails or is killed. The file is replaced atomically.
 */
public final class RowsSoFar {
    /** Name of the environment variable that contains the path of the file. */
    public static final String VARIABLE = "RDMA_RAW_ROWS_SO_FAR";

    private static volatile BenchReport latest;

    private RowsSoFar() {
    }

    /** Returns the report that was updated last, or null if there is none. */
    static BenchReport latest() {
        return latest;
    }

    static void keep(BenchReport report) {
        latest = report;
        String file = System.getenv(VARIABLE);
        if (file == null) {
            return;
        }
        try {
            Path next = Path.of(file + ".next");
            Files.writeString(next, report.toJson().toString());
            Files.move(next, Path.of(file), StandardCopyOption.REPLACE_EXISTING, StandardCopyOption.ATOMIC_MOVE);
        } catch (IOException e) {
            throw new UncheckedIOException("cannot keep rows in " + file, e);
        }
    }
}
