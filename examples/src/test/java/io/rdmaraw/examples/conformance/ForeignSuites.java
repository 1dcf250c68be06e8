package io.rdmaraw.examples.conformance;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.rdmaraw.examples.Setup;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/**
 * The directory into which {@code rdma-raw test --conformance} downloads third-party suites, and the results for its
 * page.
 */
final class ForeignSuites {
    private static final Path DIRECTORY = Path.of("target/conformance").toAbsolutePath();

    private ForeignSuites() {
    }

    /** Returns a file downloaded by the launcher. Skips the test if it is missing. */
    static Path require(String name) {
        Path file = DIRECTORY.resolve("suites").resolve(name);
        assumeTrue(Files.exists(file), () -> "needs " + file + ", which ./rdma-raw test --conformance fetches");
        return file;
    }

    /** Returns a directory for the reports of one run. */
    static Path reports(String suite, Setup setup) throws IOException {
        return Files.createDirectories(DIRECTORY.resolve("reports").resolve(suite + '-' + setup));
    }

    /**
     * Adds a row to the results page.
     *
     * @param passed number of cases that passed
     * @param rest   the other cases
     */
    static void record(String suite, Setup setup, String passed, String rest) throws IOException {
        Files.writeString(Files.createDirectories(DIRECTORY).resolve("rows.md"), "| " + suite + " | "
                + (setup == Setup.EPOLL_VETH ? "epoll" : setup.toString().toLowerCase(java.util.Locale.ROOT)
                .replace('_', '-')) + " | " + passed + " | " + rest + " |\n", StandardOpenOption.CREATE,
                StandardOpenOption.APPEND);
    }
}
