package io.rdmaraw.microbench.report;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.rdmaraw.tools.output.Json;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/**
 * All measurements of one run of {@code report}, with the same content as {@code report.json}.
 *
 * @param machine  {@link io.rdmaraw.tools.output.Environment#machine()} before the first measurement
 * @param versions {@link io.rdmaraw.tools.output.Environment#versions()}
 * @param noise    result of {@link Noise}; empty if it was not measured
 * @param command  command line for the user
 * @param date     start time for the reader
 * @param results  results in the order of measurement
 */
record Report(JsonNode machine, JsonNode versions, JsonNode noise, String command, String date,
        List<MeasurementResult> results) {
    private static final String NAME = "netty-transport-rdma-raw";

    ObjectNode toJson() {
        ObjectNode json = Json.object();
        json.put("report", NAME).put("date", date).put("command", command);
        json.set("machine", machine);
        json.set("versions", versions);
        json.set("noise", noise);
        ArrayNode array = json.putArray("measurements");
        results.forEach(result -> array.add(result.toJson()));
        return json;
    }

    static Report fromJson(JsonNode json) {
        List<MeasurementResult> results = new ArrayList<>();
        json.path("measurements").forEach(each -> results.add(MeasurementResult.fromJson(each)));
        return new Report(json.path("machine"), json.path("versions"), json.path("noise"),
                json.path("command").asText(), json.path("date").asText(), results);
    }

    static Report read(Path file) throws IOException {
        return fromJson(new ObjectMapper().readTree(Files.readString(file)));
    }

    void write(Path file) throws IOException {
        Files.writeString(file, new ObjectMapper().writerWithDefaultPrettyPrinter().writeValueAsString(toJson())
                + '\n');
    }

    /**
     * Returns all rows of the measurements with the given name, either as the whole name or as its part before a dot.
     */
    Stream<JsonNode> rows(String measurement) {
        return results.stream().filter(result -> result.name().equals(measurement)
                || result.name().startsWith(measurement + '.')).flatMap(result -> stream(result.rows()));
    }

    static Stream<JsonNode> stream(JsonNode array) {
        List<JsonNode> nodes = new ArrayList<>();
        array.forEach(nodes::add);
        return nodes.stream();
    }
}
