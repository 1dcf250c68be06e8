package io.rdmaraw.microbench.result;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;

/**
 * The rows that a bench has measured so far, for one that is interrupted. They are written to a file, too, which
 * another process reads if the bench fails or is killed. The file is replaced atomically, so that it never has half
 * of a row.
 */
public final class RowsSoFar {
    /** The environment variable that names the file. */
    public static final String VARIABLE = "RDMA_RAW_ROWS_SO_FAR";

    private static volatile BenchReport latest;

    private RowsSoFar() {
    }

    /** Returns the report that had the last row, or null while there is none. */
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
