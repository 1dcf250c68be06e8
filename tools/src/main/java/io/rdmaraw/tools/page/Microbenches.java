package io.rdmaraw.tools.page;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.rdmaraw.tools.report.Distribution;
import io.rdmaraw.tools.report.Json;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** The JMH suite, by its runnable jar; its result in the rows that the benches have. */
final class Microbenches {
    static final String NAME = "microbench";
    static final double QUICK_SECONDS = 60;
    private static final String JAR = "microbench/target/microbenchmarks.jar";
    private static final List<String> QUICK_OPTIONS = List.of("-f", "1", "-wi", "1", "-i", "3", "-w", "200ms", "-r",
            "200ms", "-p", "burst=64", "-prof", "gc");

    private Microbenches() {
    }

    static MeasurementResult run(boolean quick, double limitSeconds) throws InterruptedException {
        Path jar = Path.of(System.getProperty("rdmaraw.home", "."), JAR);
        List<String> options = quick ? QUICK_OPTIONS : List.of("-prof", "gc");
        String command = "java -jar " + JAR + ' ' + String.join(" ", options);
        if (!Files.exists(jar)) {
            return result(command, 0, null, jar + " is missing: ./mvnw -pl microbench -am package");
        }
        long start = System.nanoTime();
        Path rows = null;
        try {
            rows = Files.createTempFile("rdma-raw", ".json");
            boolean ended = MeasurementProcess.await(process(jar, options, rows), limitSeconds);
            double seconds = (System.nanoTime() - start) / 1e9;
            return ended ? result(command, seconds, toReport(new ObjectMapper().readTree(Files.readString(rows))), null)
                    : result(command, seconds, null, "ended after " + Math.round(limitSeconds) + " s");
        } catch (IOException e) {
            return result(command, (System.nanoTime() - start) / 1e9, null, e.getMessage());
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

    private static MeasurementResult result(String command, double seconds, JsonNode result, String failure) {
        return new MeasurementResult(NAME, "The parts by themselves (JMH): what a call, a buffer, a burst through a"
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
