package io.rdmaraw.examples.conformance;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.rdmaraw.examples.Setup;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** Where {@code rdma-raw test --conformance} has put the suites of others, and where results go for its page. */
final class ForeignSuites {
    private static final Path DIRECTORY = Path.of("target/conformance").toAbsolutePath();

    private ForeignSuites() {
    }

    /** Returns a file that the launcher has fetched; the test is skipped where it has not. */
    static Path require(String name) {
        Path file = DIRECTORY.resolve("suites").resolve(name);
        assumeTrue(Files.exists(file), () -> "needs " + file + ", which ./rdma-raw test --conformance fetches");
        return file;
    }

    /** Returns a directory for the reports of one run. */
    static Path reports(String suite, Setup setup) throws IOException {
        return Files.createDirectories(DIRECTORY.resolve("reports").resolve(suite + '-' + setup));
    }

    /** Adds a row to the page: the suite, the transport, how many cases passed, and the rest of them. */
    static void record(String suite, Setup setup, String passed, String rest) throws IOException {
        Files.writeString(Files.createDirectories(DIRECTORY).resolve("rows.md"), "| " + suite + " | "
                + (setup == Setup.EPOLL_VETH ? "epoll" : setup.toString().toLowerCase(java.util.Locale.ROOT)
                .replace('_', '-')) + " | " + passed + " | " + rest + " |\n", StandardOpenOption.CREATE,
                StandardOpenOption.APPEND);
    }
}
