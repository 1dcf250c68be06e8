package io.rdmaraw.microbench.report;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.rdmaraw.tools.output.Json;

/**
 * The result of a measurement.
 *
 * @param name    name of the measurement
 * @param serves  purpose as one sentence
 * @param command command line for the user
 * @param seconds duration of the measurement
 * @param result  output of the measurement; after a failure the partial result, or null
 * @param failure reason of a failure as one sentence, or null
 */
record MeasurementResult(String name, String serves, String command, double seconds, JsonNode result, String failure) {
    static MeasurementResult of(Measurement measurement, double seconds, JsonNode result) {
        return new MeasurementResult(measurement.name(), measurement.serves(), measurement.commandLine(), seconds,
                result, null);
    }

    static MeasurementResult failed(Measurement measurement, double seconds, String failure) {
        return inPart(measurement, seconds, null, failure);
    }

    /** @param result partial result, or null */
    static MeasurementResult inPart(Measurement measurement, double seconds, JsonNode result, String failure) {
        return new MeasurementResult(measurement.name(), measurement.serves(), measurement.commandLine(), seconds,
                result, failure == null || failure.isBlank() ? "it gave no reason" : failure);
    }

    /** Returns whether only some of the figures were measured. */
    boolean isInPart() {
        return result != null && failure != null;
    }

    /** Returns the rows of the result, or an empty array if there is no result. */
    JsonNode rows() {
        return result == null ? Json.object().putArray("rows") : result.path("rows");
    }

    ObjectNode toJson() {
        ObjectNode json = Json.object().put("name", name).put("serves", serves).put("command", command)
                .put("seconds", Json.rounded(seconds));
        if (result != null) {
            json.set("result", result);
        }
        if (failure != null) {
            json.put("failure", failure);
        }
        return json;
    }

    static MeasurementResult fromJson(JsonNode json) {
        return new MeasurementResult(json.path("name").asText(), json.path("serves").asText(),
                json.path("command").asText(), json.path("seconds").asDouble(),
                json.hasNonNull("result") ? json.get("result") : null, json.path("failure").asText(null));
    }
}
