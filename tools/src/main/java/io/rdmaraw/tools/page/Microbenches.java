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
import java.util.concurrent.TimeUnit;

/** The JMH suite, by its runnable jar; its result in the rows that the benches have. */
final class Microbenches {
    private static final String JAR = "microbench/target/microbenchmarks.jar";

    private Microbenches() {
    }

    static MeasurementRun run(boolean quick, double limitSeconds) throws InterruptedException {
        Path jar = Path.of(System.getProperty("rdmaraw.home", "."), JAR);
        List<String> options = quick ? List.of("-f", "1", "-wi", "1", "-i", "3", "-w", "200ms", "-r", "200ms", "-p",
                "burst=64", "-prof", "gc") : List.of("-prof", "gc");
        Measurement measurement = new Measurement("microbench", "the parts by themselves (JMH): what a call, a"
                + " buffer and"
                + " a burst through a pipeline cost, in nanoseconds and in bytes allocated",
                List.of("java", "-jar", JAR, String.join(" ", options)));
        if (!Files.exists(jar)) {
            return MeasurementRun.skipped(measurement, jar + " is missing: ./mvnw -pl microbench -am package");
        }
        long start = System.nanoTime();
        try {
            Path result = Files.createTempFile("rdma-raw", ".json");
            List<String> command = new ArrayList<>(List.of(Path.of(System.getProperty("java.home"), "bin", "java")
                    .toString(), "--enable-native-access=ALL-UNNAMED", "-jar", jar.toString(), "-rf", "json", "-rff",
                    result.toString()));
            command.addAll(options);
            Process process = new ProcessBuilder(command).redirectErrorStream(true)
                    .redirectOutput(ProcessBuilder.Redirect.DISCARD).start();
            if (!process.waitFor((long) (limitSeconds * 1e3), TimeUnit.MILLISECONDS)) {
                process.descendants().forEach(ProcessHandle::destroyForcibly);
                process.destroyForcibly().waitFor();
                return new MeasurementRun(measurement, null, "ended after " + Math.round(limitSeconds) + " s",
                        limitSeconds);
            }
            JsonNode rows = new ObjectMapper().readTree(Files.readString(result));
            result.toFile().delete();
            return new MeasurementRun(measurement, toReport(rows), null, (System.nanoTime() - start) / 1e9);
        } catch (IOException e) {
            return new MeasurementRun(measurement, null, e.getMessage(), (System.nanoTime() - start) / 1e9);
        }
    }

    private static ObjectNode toReport(JsonNode jmh) {
        ObjectNode report = Json.object();
        report.put("bench", "microbench");
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
