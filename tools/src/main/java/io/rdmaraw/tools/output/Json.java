package io.rdmaraw.tools.output;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.PrintWriter;

/** Builds JSON as the commands print it: one object on one line, the last line of the output. */
public final class Json {
    private static final ObjectMapper MAPPER = new ObjectMapper();

    private Json() {
    }

    public static ObjectNode object() {
        return MAPPER.createObjectNode();
    }

    /** Prints the object as a line of its own. */
    public static void print(PrintWriter out, ObjectNode object) {
        try {
            out.println(MAPPER.writeValueAsString(object));
        } catch (JsonProcessingException e) {
            throw new IllegalStateException(e);
        }
        out.flush();
    }

    /** Rounds a number to four significant digits; digits before the point are kept. */
    public static double rounded(double value) {
        if (value == 0 || !Double.isFinite(value)) {
            return 0;
        }
        double magnitude = Math.pow(10, Math.max(0, 3 - Math.floor(Math.log10(Math.abs(value)))));
        return Math.round(value * magnitude) / magnitude;
    }
}
