package io.rdmaraw.tools.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Runs the function of {@code ./rdma-raw test} with other commands in place of Maven and make. */
@Timeout(60)
class AllTestsCommandTest {
    private static final String COMMANDS = """
            set -euo pipefail
            . scripts/test-summary.sh
            eval "$(sed -n '/^start_tests_in_c()/,/^}/p; /^finish_tests_in_c()/,/^}/p; /^run_tests()/,/^}/p' rdma-raw)"
            ROOT="$1"
            reports="$ROOT/tools/target/surefire-reports"
            tests_in_c() { %s; }
            require_jdk() { :; }
            require_build_tools() { :; }
            want_test_programs() { :; }
            want_browser() { :; }
            want_clang() { :; }
            run_maven() {
              echo "maven $*"
              mkdir -p "$reports"
              echo '  <testcase name="one">' >"$reports/TEST-One.xml"
            }
            make() { [ "${!#}" = all ] || tests_in_c; }
            run_tests %s
            """;

    @TempDir
    private Path directory;

    private Result run(String testsInC, String options) throws Exception {
        Process process = new ProcessBuilder("bash", "-c", COMMANDS.formatted(testsInC, options), "bash",
                directory.toString()).redirectErrorStream(true).directory(Path.of("..").toFile()).start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
        return new Result(process.waitFor(), output);
    }

    private record Result(int exitCode, String output) {
    }

    /** The tests in C end only after those in Java, of which one has passed. */
    @Test
    void testsInCRunBesideThoseInJava() throws Exception {
        Result result = run("until [ -s \"$reports/TEST-One.xml\" ]; do :; done; echo in C", "");
        assertEquals(0, result.exitCode, result.output);
        assertTrue(result.output.contains("-Pfull verify -Dtest.native=all\nin C\n"), result.output);
        assertTrue(result.output.endsWith("1 passed, 0 failed"), result.output);
    }

    @Test
    void failedTestInCFailsTheRun() throws Exception {
        Result result = run("echo FAILED in C; return 1", "");
        assertEquals(1, result.exitCode, result.output);
        assertTrue(result.output.contains("FAILED in C\n[ERROR] The tests in C failed."), result.output);
        assertTrue(result.output.endsWith("1 passed, 1 failed"), result.output);
    }

    @Test
    void mavenRunsTheTestsInCIfItHasOptions() throws Exception {
        Result result = run("echo in C", "-pl tools");
        assertEquals(0, result.exitCode, result.output);
        assertEquals("maven -B -ntp -fae -Dmaven.test.failure.ignore=true -Pfull verify -pl tools\n"
                + "1 passed, 0 failed", result.output);
    }
}
