package io.rdmaraw.microbench.report;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.rdmaraw.microbench.result.Distribution;
import io.rdmaraw.tools.output.Json;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BooleanSupplier;
import java.util.jar.JarFile;
import java.util.regex.Pattern;

/**
 * Runs the JMH suite from its executable jar and converts the result to rows of a bench. Each benchmark class runs in a
 * separate process. JMH writes its result only at the end, so killing one class must not lose the results of others.
 */
final class Microbenches {
    static final String NAME = "microbench";
    static final double QUICK_SECONDS = 35;
    private static final String JAR = "microbench/target/microbenchmarks.jar";
    private static final String ENDING = "Benchmark";
    private static final Pattern CLASS = Pattern.compile("\\.(\\w+)" + ENDING + "\\b");
    private static final List<String> QUICK_OPTIONS = List.of("-f", "1", "-wi", "1", "-i", "3", "-w", "200ms", "-r",
            "200ms", "-p", "burst=64", "-prof", "gc");

    private Microbenches() {
    }

    private static Path jar() {
        return Path.of(System.getProperty("rdmaraw.home", "."), JAR);
    }

    /**
     * Returns the benchmark classes that JMH lists in the jar, without the suffix {@code Benchmark}. Returns one empty
     * name if there is no jar.
     */
    static List<String> names() {
        try (JarFile jar = new JarFile(jar().toFile())) {
            String list = new String(jar.getInputStream(jar.getEntry("META-INF/BenchmarkList")).readAllBytes(),
                    StandardCharsets.UTF_8);
            return CLASS.matcher(list).results().map(match -> match.group(1)).distinct().toList();
        } catch (IOException e) {
            return List.of("");
        }
    }

    /** Returns the name of the measurement of a benchmark class. */
    static String nameOf(String benchmark) {
        return benchmark.isEmpty() ? NAME : NAME + '.' + benchmark;
    }

    static MeasurementResult run(String benchmark, boolean quick, double limitSeconds, BooleanSupplier keepRunning)
            throws InterruptedException {
        Path jar = jar();
        List<String> options = new ArrayList<>(List.of(benchmark + ENDING));
        options.addAll(quick ? QUICK_OPTIONS : List.of("-prof", "gc"));
        String command = "java -jar " + JAR + ' ' + String.join(" ", options);
        if (!Files.exists(jar)) {
            return result(benchmark, command, 0, null, jar + " is missing: ./mvnw -pl microbench -am package");
        }
        long start = System.nanoTime();
        Path rows = null;
        try {
            rows = Files.createTempFile("rdma-raw", ".json");
            boolean ended = MeasurementProcess.await(process(jar, options, rows), limitSeconds, keepRunning);
            double seconds = (System.nanoTime() - start) / 1e9;
            return ended ? result(benchmark, command, seconds,
                    toReport(new ObjectMapper().readTree(Files.readString(rows))), null)
                    : result(benchmark, command, seconds, null,
                            !keepRunning.getAsBoolean() ? MeasurementProcess.INTERRUPTED
                            : "ended after " + Math.round(limitSeconds)
                            + " s, which is all that the report gives it");
        } catch (IOException e) {
            return result(benchmark, command, (System.nanoTime() - start) / 1e9, null, e.getMessage());
        } finally {
            if (rows != null) {
                rows.toFile().delete();
            }
        }
    }

    private static Process process(Path jar, List<String> options, Path rows) throws IOException {
        List<String> command = new ArrayList<>(List.of(Path.of(System.getProperty("java.home"), "bin", "java")
                .toString(), "--enable-native-access=ALL-UNNAMED", "-jar", jar.toString(), "-rf", "json", "-rff",
                rows.toString()));
        command.addAll(options);
        return new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .start();
    }

    private static MeasurementResult result(String benchmark, String command, double seconds, JsonNode result,
            String failure) {
        return new MeasurementResult(nameOf(benchmark),
                "The parts by themselves (JMH): what a call, a buffer, a burst through a"
                + " pipeline and its counting cost, in nanoseconds and in bytes allocated.", command, seconds, result,
                failure);
    }

    private static ObjectNode toReport(JsonNode jmh) {
        ObjectNode report = Json.object();
        report.put("bench", NAME);
        ArrayNode rows = report.putArray("rows");
        for (JsonNode each : jmh) {
            String name = each.get("benchmark").asText().replaceFirst(".*\\.(\\w+)Benchmark\\.", "$1.");
            StringBuilder parameters = new StringBuilder();
            each.path("params").properties().forEach(p -> parameters.append(' ').append(p.getKey()).append('=')
                    .append(p.getValue().asText()));
            addRow(rows, name + parameters, each.get("primaryMetric"));
            JsonNode allocated = each.path("secondaryMetrics").path("gc.alloc.rate.norm");
            if (!allocated.isMissingNode()) {
                addRow(rows, name + parameters + " alloc", allocated);
            }
        }
        return report;
    }

    private static void addRow(ArrayNode rows, String name, JsonNode metric) {
        List<Double> values = new ArrayList<>();
        metric.get("rawData").forEach(fork -> fork.forEach(value -> values.add(value.asDouble())));
        if (values.isEmpty()) {
            return;
        }
        Distribution distribution = Distribution.of(values);
        rows.addObject().put("case", name).put("transport", "jmh").put("device", "")
                .put("unit", metric.get("scoreUnit").asText()).put("min", Json.rounded(distribution.min()))
                .put("median", Json.rounded(distribution.median())).put("max", Json.rounded(distribution.max()))
                .put("runs", distribution.runs());
    }
}
