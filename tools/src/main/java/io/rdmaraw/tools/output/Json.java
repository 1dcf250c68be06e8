package io.rdmaraw.tools.output;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.PrintWriter;

/** Builds the JSON output of the commands: one object on one line, which is the last line of the output. */
public final class Json {
    private static final ObjectMapper MAPPER = new ObjectMapper();

    private Json() {
    }

    public static ObjectNode object() {
        return MAPPER.createObjectNode();
    }

    /** Prints an object on one line. */
    public static void print(PrintWriter out, ObjectNode object) {
        try {
            out.println(MAPPER.writeValueAsString(object));
        } catch (JsonProcessingException e) {
            throw new IllegalStateException(e);
        }
        out.flush();
    }

    /** Rounds a number to four significant digits. Digits before the decimal point are always kept. */
    public static double rounded(double value) {
        if (value == 0 || !Double.isFinite(value)) {
            return 0;
        }
        double magnitude = Math.pow(10, Math.max(0, 3 - Math.floor(Math.log10(Math.abs(value)))));
        return Math.round(value * magnitude) / magnitude;
    }
}
