package io.rdmaraw.microbench.report;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.rdmaraw.tools.output.Json;

/**
 * The result of a measurement.
 *
 * @param command as the user types it
 * @param result  what it printed; of one that did not come to its end what it had found until then; or null
 * @param failure why it did not come to its end: one sentence, or null
 */
record MeasurementResult(String name, String serves, String command, double seconds, JsonNode result, String failure) {
    static MeasurementResult of(Measurement measurement, double seconds, JsonNode result) {
        return new MeasurementResult(measurement.name(), measurement.serves(), measurement.commandLine(), seconds,
                result, null);
    }

    static MeasurementResult failed(Measurement measurement, double seconds, String failure) {
        return inPart(measurement, seconds, null, failure);
    }

    /** @param result what there was before it failed or was ended, or null */
    static MeasurementResult inPart(Measurement measurement, double seconds, JsonNode result, String failure) {
        return new MeasurementResult(measurement.name(), measurement.serves(), measurement.commandLine(), seconds,
                result, failure == null || failure.isBlank() ? "it gave no reason" : failure);
    }

    /** Returns whether only some of the figures were measured. */
    boolean isInPart() {
        return result != null && failure != null;
    }

    /** Returns the rows; none if nothing was measured. */
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
