package io.rdmaraw.tools.page;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.rdmaraw.tools.Main;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * A measurement as it went. Each runs in a JVM of its own, as from the command line: none sees what the compiler made
 * of the one before.
 *
 * @param result  what it printed, or null
 * @param failure why there is no result: one sentence, or null
 */
record MeasurementRun(Measurement measurement, JsonNode result, String failure, double seconds) {
    private static final long GRACE_SECONDS = 5;

    static MeasurementRun run(Measurement measurement, double limitSeconds) throws InterruptedException {
        long start = System.nanoTime();
        Path out = null;
        Path err = null;
        try {
            out = Files.createTempFile("rdma-raw", ".out");
            err = Files.createTempFile("rdma-raw", ".err");
            Process process = new ProcessBuilder(command(measurement.arguments())).redirectOutput(out.toFile())
                    .redirectError(err.toFile()).start();
            process.getOutputStream().close();
            boolean ended = process.waitFor((long) (limitSeconds * 1e3), TimeUnit.MILLISECONDS);
            if (!ended) {
                end(process);
            }
            double seconds = (System.nanoTime() - start) / 1e9;
            JsonNode result = lastObject(Files.readString(out, StandardCharsets.UTF_8));
            String failure = result != null ? null : !ended ? "ended after " + Math.round(limitSeconds)
                    + " s, which is all that the report gives it" : lastLine(Files.readString(err,
                    StandardCharsets.UTF_8));
            return new MeasurementRun(measurement, result, failure, seconds);
        } catch (IOException e) {
            return new MeasurementRun(measurement, null, e.getMessage(), (System.nanoTime() - start) / 1e9);
        } finally {
            delete(out);
            delete(err);
        }
    }

    static MeasurementRun skipped(Measurement measurement, String why) {
        return new MeasurementRun(measurement, null, why, 0);
    }

    /** This JVM's own command with other arguments. */
    private static List<String> command(List<String> arguments) {
        List<String> command = new ArrayList<>(List.of(Path.of(System.getProperty("java.home"), "bin",
                "java").toString(),
                "--enable-native-access=ALL-UNNAMED", "-Drdmaraw.home=" + System.getProperty("rdmaraw.home", "."),
                "-cp",
                System.getProperty("java.class.path"), Main.class.getName()));
        command.addAll(arguments);
        return command;
    }

    private static void end(Process process) throws InterruptedException {
        // It has namespaces or children to clean up: it is asked first.
        process.destroy();
        if (!process.waitFor(GRACE_SECONDS, TimeUnit.SECONDS)) {
            process.descendants().forEach(ProcessHandle::destroyForcibly);
            process.destroyForcibly().waitFor();
        }
    }

    private static JsonNode lastObject(String output) {
        String line = lastLine(output);
        if (!line.startsWith("{")) {
            return null;
        }
        try {
            return new ObjectMapper().readTree(line);
        } catch (IOException e) {
            return null;
        }
    }

    private static String lastLine(String text) {
        return text.strip().lines().reduce((first, second) -> second).orElse("it printed nothing");
    }

    private static void delete(Path file) {
        if (file != null) {
            file.toFile().delete();
        }
    }
}
