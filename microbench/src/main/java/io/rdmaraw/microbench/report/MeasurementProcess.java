package io.rdmaraw.microbench.report;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.rdmaraw.microbench.result.RowsSoFar;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

/**
 * Runs a measurement in a separate JVM, as from the command line. Measurements therefore do not share JIT-compiled
 * code. If one fails or hangs, the others are not affected.
 */
final class MeasurementProcess {
    private static final long GRACE_SECONDS = 5;
    private static final long POLL_MILLIS = 100;
    private static final String LAUNCHER = "rdma-raw";
    /** The failure of a measurement that Ctrl-C ended. */
    static final String INTERRUPTED = "interrupted";

    private final Measurement measurement;
    private final double limitSeconds;
    private final BooleanSupplier keepRunning;

    /**
     * Creates the process without starting it.
     *
     * @param limitSeconds time after which the process is ended
     * @param keepRunning  returns false after Ctrl-C; the process is then ended early
     */
    MeasurementProcess(Measurement measurement, double limitSeconds, BooleanSupplier keepRunning) {
        this.measurement = measurement;
        this.limitSeconds = limitSeconds;
        this.keepRunning = keepRunning;
    }

    MeasurementResult run() throws InterruptedException {
        long start = System.nanoTime();
        Path directory = null;
        try {
            directory = Files.createTempDirectory("rdma-raw-report");
            return run(directory, start);
        } catch (IOException e) {
            return MeasurementResult.failed(measurement, secondsSince(start), e.getMessage());
        } finally {
            delete(directory);
        }
    }

    private MeasurementResult run(Path directory, long start) throws IOException, InterruptedException {
        Path out = directory.resolve("out");
        Path err = directory.resolve("err");
        Path rows = directory.resolve("rows");
        ProcessBuilder builder = new ProcessBuilder(command()).redirectOutput(out.toFile()).redirectError(err.toFile());
        builder.environment().put(RowsSoFar.VARIABLE, rows.toString());
        Process process = builder.start();
        process.getOutputStream().close();
        boolean ended = await(process, limitSeconds, keepRunning);
        double seconds = secondsSince(start);
        JsonNode result = lastObject(Files.readString(out, StandardCharsets.UTF_8));
        // A process that was ended early prints its rows so far, as after Ctrl-C.
        if (result != null && !result.path("interrupted").asBoolean()) {
            return MeasurementResult.of(measurement, seconds, result);
        }
        return MeasurementResult.inPart(measurement, seconds, Files.exists(rows)
                ? lastObject(Files.readString(rows, StandardCharsets.UTF_8)) : null,
                !keepRunning.getAsBoolean() ? INTERRUPTED : ended ? reason(process.exitValue(), err)
                        : "ended after " + Math.round(limitSeconds)
                        + " s, which is all that the report gives it" + progress(err));
    }

    private static double secondsSince(long startNanos) {
        return (System.nanoTime() - startNanos) / 1e9;
    }

    private List<String> command() {
        String home = System.getProperty("rdmaraw.home", ".");
        List<String> command = new ArrayList<>();
        if (measurement.byLauncher()) {
            command.add(Path.of(home, LAUNCHER).toString());
        } else {
            command.addAll(List.of(Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                    "--enable-native-access=ALL-UNNAMED", "-Drdmaraw.home=" + home, "-cp",
                    System.getProperty("java.class.path"), mainClass()));
        }
        command.addAll(measurement.arguments());
        return command;
    }

    /** Returns the main class of the module that contains the command. The launcher chooses it in the same way. */
    private String mainClass() {
        return measurement.arguments().getFirst().equals("bench") ? "io.rdmaraw.microbench.Main"
                : "io.rdmaraw.tools.Main";
    }

    /**
     * Waits for a process. Ends it if its time is over or {@code keepRunning} returns false.
     *
     * @return whether the process has ended by itself
     */
    static boolean await(Process process, double limitSeconds,
            BooleanSupplier keepRunning) throws InterruptedException {
        long start = System.nanoTime();
        while (keepRunning.getAsBoolean() && secondsSince(start) < limitSeconds) {
            if (process.waitFor(POLL_MILLIS, TimeUnit.MILLISECONDS)) {
                return true;
            }
        }
        // SIGTERM comes first, because the process may have to remove network namespaces and end its own children.
        List<ProcessHandle> children = process.descendants().toList();
        process.destroy();
        if (!process.waitFor(GRACE_SECONDS, TimeUnit.SECONDS)) {
            process.destroyForcibly().waitFor();
        }
        children.forEach(ProcessHandle::destroyForcibly);
        return false;
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

    /**
     * Returns the error message that a tool printed last, without the name of the launcher. If there is none, returns
     * the exit code and the last line.
     */
    private static String reason(int exitCode, Path err) throws IOException {
        String text = Files.readString(err, StandardCharsets.UTF_8);
        return text.lines().filter(line -> line.startsWith("rdma-raw: ") && !line.contains("machine is busy"))
                .reduce((first, second) -> second).map(line -> line.substring("rdma-raw: ".length()))
                .orElseGet(() -> "it ended with code " + exitCode + ": " + lastLine(text));
    }

    /** Returns the last progress line of a bench. Benches print a line before each step. */
    private static String progress(Path err) throws IOException {
        return Files.readString(err, StandardCharsets.UTF_8).lines()
                .filter(line -> !line.startsWith("rdma-raw: ") && !line.startsWith(" ")
                        && !line.startsWith("WARNING")).reduce((first, second) -> second)
                .map(line -> ", at: " + line.strip()).orElse("");
    }

    private static String lastLine(String text) {
        return text.strip().lines().reduce((first, second) -> second).orElse("it printed nothing");
    }

    private static void delete(Path directory) {
        if (directory == null) {
            return;
        }
        File[] files = directory.toFile().listFiles();
        for (File file : files == null ? new File[0] : files) {
            file.delete();
        }
        directory.toFile().delete();
    }
}
