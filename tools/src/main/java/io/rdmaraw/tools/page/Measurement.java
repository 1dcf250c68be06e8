package io.rdmaraw.tools.page;

import java.util.List;

/**
 * One command that measures.
 *
 * @param name      in the page
 * @param serves    one sentence: what it measures, or what decision it serves
 * @param arguments of {@code ./rdma-raw}; the last line that they print is one JSON object
 */
record Measurement(String name, String serves, List<String> arguments) {
    /** As the user types it. */
    String commandLine() {
        return "./rdma-raw " + String.join(" ", arguments.stream().map(Measurement::quoted).toList());
    }

    private static String quoted(String argument) {
        return argument.matches("[\\w./:=@,+-]+") ? argument : '\'' + argument + '\'';
    }
}
