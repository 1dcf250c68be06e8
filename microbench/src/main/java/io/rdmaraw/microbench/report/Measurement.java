package io.rdmaraw.microbench.report;

import java.util.List;

/**
 * One command that measures.
 *
 * @param name          in the page; what differs after a dot stands under one heading
 * @param serves        one sentence: what it measures, or what decision it serves
 * @param arguments     of {@code ./rdma-raw}; the last line that they print is one JSON object
 * @param budgetSeconds what it takes of a quick report, on two cores; later ones have theirs kept for them
 * @param byLauncher    whether the launcher has to start it, since it sets up more than a JVM
 */
record Measurement(String name, String serves, List<String> arguments, double budgetSeconds, boolean byLauncher) {
    /** Returns the command as the user types it. */
    String commandLine() {
        return "./rdma-raw " + String.join(" ", arguments.stream().map(Measurement::quoted).toList());
    }

    private static String quoted(String argument) {
        return argument.matches("[\\w./:=@,+-]+") ? argument : '\'' + argument + '\'';
    }
}
