package io.rdmaraw.tools.doctor;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.rdmaraw.tools.output.Json;

/**
 * The result of one check.
 *
 * @param subject subject of the check in a word or two
 * @param text    observed fact
 * @param remedy  how to correct it; empty if nothing needs to be done
 */
record Finding(Severity severity, String subject, String text, String remedy) {
    enum Severity {
        /** Nothing to correct. */
        OK,
        /** The device works, but is slower or has fewer features. */
        WARN,
        /** The device does not work. */
        FAIL
    }

    static Finding ok(String subject, String text) {
        return new Finding(Severity.OK, subject, text, "");
    }

    static Finding warn(String subject, String text, String remedy) {
        return new Finding(Severity.WARN, subject, text, remedy);
    }

    static Finding fail(String subject, String text, String remedy) {
        return new Finding(Severity.FAIL, subject, text, remedy);
    }

    ObjectNode toJson() {
        return Json.object().put("severity", severity.name()).put("subject", subject).put("text", text)
                .put("remedy", remedy);
    }

    @Override
    public String toString() {
        String line = String.format("%-4s  %-14s  %s", severity, subject, text);
        return remedy.isEmpty() ? line : line + "\n      to do: " + remedy;
    }
}
