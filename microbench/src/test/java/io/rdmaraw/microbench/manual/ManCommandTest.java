package io.rdmaraw.microbench.manual;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.rdmaraw.microbench.BenchRun;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** All commands have a manual page in the format of man(1). */
class ManCommandTest {
    private static final String HOME = "rdmaraw.home";

    @TempDir
    private Path directory;

    @BeforeEach
    void theLauncherIsHere() {
        System.setProperty(HOME, "..");
    }

    @AfterEach
    void thisModuleIsHomeAgain() {
        System.clearProperty(HOME);
    }

    private List<Path> pages() throws Exception {
        BenchRun run = BenchRun.of("man", "--out", directory.toString());
        assertEquals(0, run.exitCode(), run.err());
        try (Stream<Path> files = Files.list(directory)) {
            return files.sorted().toList();
        }
    }

    @Test
    void everyCommandHasAPage() throws Exception {
        List<String> names = pages().stream().map(page -> page.getFileName().toString()).toList();
        for (String command : List.of("rdma-raw", "rdma-raw-demo-http", "rdma-raw-pktgen-tx", "rdma-raw-lat",
                "rdma-raw-bench-http", "rdma-raw-report", "rdma-raw-example-dns", "rdma-raw-man",
                "rdma-raw-test", "rdma-raw-hardware-check")) {
            assertTrue(names.contains(command + ".1"), command + " in " + names);
        }
        assertTrue(names.stream().noneMatch("rdma-raw-bench-load.1"::equals), "a hidden one");
    }

    @Test
    void manualPageHasTheContentOfTheHelp() throws Exception {
        pages();
        String page = Files.readString(directory.resolve("rdma-raw-pktgen-tx.1"));
        for (String part : List.of(
                ".SH \"NAME\"\nrdma\\-raw\\-pktgen\\-tx \\- ",
                ".SH \"SYNOPSIS\"\n.B rdma\\-raw pktgen tx",
                ".TP\n\\fB\\-T\\fR, \\fB\\-\\-template\\fR \\fI", "\\fB\\-\\-json\\fR\n", "Exit codes: 0 well",
                "rdma\\-raw\\-pktgen(1)")) {
            assertTrue(page.contains(part), part + " in\n" + page);
        }
        assertTrue(Files.readString(directory.resolve("rdma-raw-lat.1")).contains("; default "));
    }

    /** The page of a command that the launcher implements contains the launcher's own help text, unchanged. */
    @Test
    void aPageOfTheLauncherHasItsHelp() throws Exception {
        pages();
        String page = Files.readString(directory.resolve("rdma-raw-test.1"));
        for (String part : List.of(".SH \"NAME\"\nrdma\\-raw\\-test \\- Runs tests\n",
                ".SH \"SYNOPSIS\"\n.nf\nrdma\\-raw test [\\-\\-fast", "\n  \\-\\-fast  ", "rdma\\-raw(1)")) {
            assertTrue(page.contains(part), part + " in\n" + page);
        }
    }

    /**
     * The formatter must not report warnings, because they indicate a wrong layout. Only warnings about long words are
     * accepted.
     */
    @Test
    void theFormatterHasNothingToSay() throws Exception {
        assumeTrue(Files.isExecutable(Path.of("/usr/bin/groff")), "needs groff: apt-get install groff-base");
        for (Path page : pages()) {
            Process groff = new ProcessBuilder("/usr/bin/groff", "-man", "-Tutf8", "-ww", "-Wbreak", "-rCHECKSTYLE=2",
                    "-z", page.toString()).redirectErrorStream(true).start();
            String said = new String(groff.getInputStream().readAllBytes());
            assertEquals("", said, page.toString());
            assertEquals(0, groff.waitFor(), page.toString());
        }
    }
}
