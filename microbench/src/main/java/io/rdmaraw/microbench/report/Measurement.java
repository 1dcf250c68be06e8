package io.rdmaraw.microbench.report;

import java.util.List;

/**
 * A command that a report runs.
 *
 * @param name          name in the page; names with the same part before a dot share a heading
 * @param serves        purpose as one sentence
 * @param arguments     arguments of {@code ./rdma-raw}; the last line of the output must be one JSON object
 * @param budgetSeconds time that a quick report reserves for it, on a machine with two cores
 * @param byLauncher    whether the launcher must start it because it sets up more than a JVM
 */
record Measurement(String name, String serves, List<String> arguments, double budgetSeconds, boolean byLauncher) {
    /** Returns the command line as a user would type it. */
    String commandLine() {
        return "./rdma-raw " + String.join(" ", arguments.stream().map(Measurement::quoted).toList());
    }

    private static String quoted(String argument) {
        return argument.matches("[\\w./:=@,+-]+") ? argument : '\'' + argument + '\'';
    }
}
