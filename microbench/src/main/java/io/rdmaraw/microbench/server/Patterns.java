package io.rdmaraw.microbench.server;

import io.rdmaraw.tools.command.ToolException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Extracts figures from the output of programs. */
final class Patterns {
    private static final double MICROS_PER_MILLI = 1e3;
    private static final double MICROS_PER_SECOND = 1e6;

    private Patterns() {
    }

    /** Returns the first group of the first match. */
    static String find(String pattern, String output) {
        return find(pattern, 1, output);
    }

    /** Returns a group of the first match. */
    static String find(String pattern, int group, String output) {
        Matcher matcher = Pattern.compile(pattern).matcher(output);
        if (!matcher.find()) {
            throw new ToolException("the generator's report has no '" + pattern + "': " + output.strip());
        }
        return matcher.group(group);
    }

    static long count(String pattern, String output) {
        return Long.parseLong(find(pattern, output));
    }

    /** Parses a duration such as 12.3us, 4.5ms or 1.2s, and returns it in microseconds. */
    static double micros(String text) {
        int digits = 0;
        while (digits < text.length() && (Character.isDigit(text.charAt(digits)) || text.charAt(digits) == '.')) {
            digits++;
        }
        if (digits == 0) {
            throw new ToolException('\'' + text + "' is not a time");
        }
        double value = Double.parseDouble(text.substring(0, digits));
        return switch (text.substring(digits)) {
            case "us" -> value;
            case "ms" -> value * MICROS_PER_MILLI;
            case "s" -> value * MICROS_PER_SECOND;
            default -> throw new ToolException('\'' + text + "' is not a time");
        };
    }
}
