package io.rdmaraw.tools.perf;

import picocli.CommandLine.Option;

/** The options that describe the output. */
final class OutputOptions {
    @Option(names = "--json", description = "print the result as one JSON object, with perftest's names in it")
    private boolean json;

    @Option(names = {"--report_gbits", "--report-gbits"}, description = "Gbit/s in place of MiB/s")
    private boolean gigabits;

    boolean json() {
        return json;
    }

    boolean gigabits() {
        return gigabits;
    }
}
