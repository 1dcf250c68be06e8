package io.rdmaraw.testsuite;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.rdmaraw.testsuite.golden.GoldenOutput;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Compares the output of the {@code sim} command with recorded files; see {@link GoldenOutput}. */
class GoldenOutputTest {
    private static final List<String> RUNS = List.of(
            "sim --help",
            "sim --seeds=5 --threads 1",
            "sim --seeds 5 --from 7 --json",
            "sim --seeds 0",
            "sim --seeds five",
            "sim --nothing 1",
            "sim scripts --nothing");

    static List<String> runs() {
        return RUNS;
    }

    @ParameterizedTest
    @MethodSource("runs")
    void outputOfACommandIsUnchanged(String arguments) throws Exception {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        int exitCode = Main.run(arguments.substring("sim ".length()).split(" "), new PrintStream(out, true,
                StandardCharsets.UTF_8));
        GoldenOutput.check(arguments, exitCode, out.toString(StandardCharsets.UTF_8), "");
    }

    @Test
    void anEqualsSignIsAsGoodAsABlank() throws Exception {
        assertEquals(seedsOf("--seeds", "3"), seedsOf("--seeds=3"));
    }

    private static String seedsOf(String... arguments) throws Exception {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        assertEquals(0, Main.run(arguments, new PrintStream(out, true, StandardCharsets.UTF_8)));
        return out.toString(StandardCharsets.UTF_8).replaceAll("[0-9]+ ms", "");
    }

    @Test
    void everyFileIsOfARun() {
        GoldenOutput.checkNoOther(RUNS);
    }
}
