package io.rdmaraw.microbench.report;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.rdmaraw.microbench.Main;
import io.rdmaraw.microbench.result.RowsSoFar;
import io.rdmaraw.testsuite.net.Await;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** If a measurement is ended early or fails, its rows so far are kept and the page names the missing part. */
@Timeout(120)
class PartialMeasurementTest {
    private static final int SIGTERM = 15;
    private static final String HOME = "rdmaraw.home";
    private static final String ROWS = PageTest.ROWS.replace("\n", "");

    private final String homeBefore = System.getProperty(HOME);

    @TempDir
    private Path directory;

    @AfterEach
    void restoreHome() {
        if (homeBefore == null) {
            System.clearProperty(HOME);
        } else {
            System.setProperty(HOME, homeBefore);
        }
    }

    /** Runs a shell script with the given lines as a bench, in place of the launcher. */
    private MeasurementResult run(double limitSeconds, String... lines) throws Exception {
        Path launcher = Files.writeString(directory.resolve("rdma-raw"), "#!/bin/sh\n"
                + String.join("\n", lines) + '\n');
        Files.setPosixFilePermissions(launcher, PosixFilePermissions.fromString("rwx------"));
        System.setProperty(HOME, directory.toString());
        return new MeasurementProcess(new Measurement("frames", "serves", List.of(), 1, true), limitSeconds, () -> true)
                .run();
    }

    private static String keep(String rows) {
        return "cat > $" + RowsSoFar.VARIABLE + " <<'END'\n" + rows + "\nEND";
    }

    @Test
    void theRowsOfABenchThatIsEndedAreKept() throws Exception {
        MeasurementResult result = run(1, keep(ROWS), "echo 'rdma-raw: this machine is busy' >&2",
                "echo 'rx.burst64 rdma-raw' >&2", "echo 'echo.burst8 rdma-raw' >&2", "exec sleep 1000");
        assertTrue(result.isInPart());
        assertEquals(4, result.rows().size());
        assertTrue(result.failure().contains("all that the report gives it, at: echo.burst8 rdma-raw"),
                result.failure());
    }

    @Test
    void aBenchThatIsInterruptedIsMeasuredInPart() throws Exception {
        String interrupted = ROWS.replaceFirst("\\{", "{\"interrupted\":true,");
        MeasurementResult result = run(60, keep(ROWS), "cat <<'END'\n" + interrupted + "\nEND", "exit 130");
        assertTrue(result.isInPart());
        assertEquals(4, result.rows().size());
    }

    @Test
    void theRowsOfABenchThatFailsAreKept() throws Exception {
        MeasurementResult result = run(60, keep(ROWS), "echo 'rdma-raw: a cable was pulled' >&2", "exit 1");
        assertTrue(result.isInPart());
        assertEquals(4, result.rows().size());
        assertEquals("a cable was pulled", result.failure());
    }

    @Test
    void aBenchThatComesToItsEndHasNoGap() throws Exception {
        MeasurementResult result = run(60, keep("{\"rows\":[]}"), "cat <<'END'\n" + ROWS + "\nEND");
        assertFalse(result.isInPart());
        assertNull(result.failure());
        assertEquals(4, result.rows().size());
    }

    @Test
    void halfARowIsNone() throws Exception {
        MeasurementResult result = run(60, keep(ROWS.substring(0, 100)), "exit 3");
        assertNull(result.result());
        assertTrue(result.failure().contains("code 3"), result.failure());
    }

    @Test
    void partOfAMeasurementIsWrittenAndReadAgain() throws Exception {
        MeasurementResult part = run(60, keep(ROWS), "echo 'rdma-raw: it broke' >&2", "exit 1");
        MeasurementResult again = MeasurementResult.fromJson(part.toJson());
        assertEquals(part.failure(), again.failure());
        assertEquals(part.rows(), again.rows());
        String page = new Page(PageTest.report(again)).render("");
        assertTrue(page.contains("Not all of it was measured: it broke") && page.contains("0.50 of c"), page);
        String readme = ReadmeFigures.markdown(PageTest.report(again));
        assertTrue(readme.contains("Measured in part: frames; the page says what is missing"), readme);
    }

    @Test
    void everyGapIsNamedWithItsReason() throws Exception {
        MeasurementResult failed = MeasurementResult.failed(PageTest.measurement("wire"), 3, "no root");
        MeasurementResult few = PageTest.run("udp", ROWS.replace("\"runs\":5,\"ratioTo\"", "\"runs\":2,\"ratioTo\"")
                .replace("{\"bench\"",
                        "{\"notMeasured\":[{\"what\":\"udp.rr on nio\",\"reason\":\"no port\"}],\"bench\""));
        List<String> gaps = Gaps.of(PageTest.report(PageTest.run("frames", ROWS), failed, few)).stream()
                .map(gap -> gap.measurement() + " | " + gap.what() + " | " + gap.reason()).toList();
        for (String expected : List.of("wire | all of it | no root", "udp | udp.rr on nio | no port",
                "udp | the spread of 2 comparisons | they have fewer than 3 runs",
                "frames | A frame received and sent back, in memory | no row of frames has it")) {
            assertTrue(gaps.contains(expected), expected + " in " + gaps);
        }
        assertTrue(gaps.stream().noneMatch(gap -> gap.contains("received through a Netty pipeline")
                || gap.contains("HTTP") || gap.startsWith("wire | Frames echoed")), gaps.toString());
        String page = new Page(PageTest.report(failed)).render("");
        assertTrue(page.contains("<li><b>wire</b>, all of it: no root</li>"), page);
    }

    /** A real bench: it writes its first rows while it is still running, and prints them when it is interrupted. */
    @Test
    void aBenchKeepsItsRowsWhileItGoesOn() throws Exception {
        Path rows = directory.resolve("rows");
        ProcessBuilder builder = new ProcessBuilder(Stream.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--enable-native-access=ALL-UNNAMED", "-cp", System.getProperty("java.class.path"),
                Main.class.getName(), "bench", "tcp-core", "--quick", "--connections", "1,1,1000", "--json").toList())
                .redirectErrorStream(true).redirectOutput(directory.resolve("out").toFile());
        builder.environment().put(RowsSoFar.VARIABLE, rows.toString());
        Process process = builder.start();
        try {
            Await.until("the first row", Duration.ofSeconds(90), () -> Files.exists(rows) || !process.isAlive());
            JsonNode soFar = new ObjectMapper().readTree(rows.toFile());
            assertEquals("tcp-core.rr.conns1", soFar.get("rows").get(0).get("case").asText());
            assertTrue(process.isAlive(), "it has ended: " + Files.readString(directory.resolve("out")));
            process.destroy();
            assertTrue(process.waitFor(30, TimeUnit.SECONDS), "it goes on after SIGTERM");
            assertEquals(128 + SIGTERM, process.exitValue());
            String out = Files.readString(directory.resolve("out"));
            assertTrue(out.contains("rdma-raw: interrupted; what was measured until then"), out);
            JsonNode printed = new ObjectMapper().readTree(out.strip().lines().reduce((a, b) -> b).orElseThrow());
            assertTrue(printed.get("interrupted").asBoolean());
            assertEquals("tcp-core.rr.conns1", printed.get("rows").get(0).get("case").asText());
        } finally {
            process.destroyForcibly().waitFor();
        }
    }
}
