package io.rdmaraw.tools.top;

import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** The process that a command looks at: as an argument or as an option; without either the only one there is. */
final class ProcessChoice {
    @Parameters(arity = "0..1", paramLabel = "PID",
            description = "the process; by default the only one with event loops of the transport")
    private String argument;

    @Option(names = "--pid", paramLabel = "PID", description = "the same")
    private String option;

    /** Returns the process ID, or null. */
    String pid() {
        return argument != null ? argument : option;
    }
}
