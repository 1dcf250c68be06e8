package io.rdmaraw.tools.top;

import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/**
 * The process that a command examines, given as an argument or as an option. The default is the only process that uses
 * the transport.
 */
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
