package io.rdmaraw.tools.top;

import io.rdmaraw.tools.command.ToolException;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/**
 * The process that a command examines, given as an argument or as an option. The default is the only process that uses
 * the transport.
 */
public final class ProcessChoice {
    private static final String ATTACH = "jdk.attach";

    @Parameters(arity = "0..1", paramLabel = "PID",
            description = "the process; by default the only one with event loops of the transport")
    private String argument;

    @Option(names = "--pid", paramLabel = "PID", description = "the same")
    private String option;

    JavaProcess attach(String command) {
        return attach(command, argument != null ? argument : option);
    }

    /**
     * Attaches to a process.
     *
     * @param command   name of the command that attaches
     * @param pidOrNull the process, or null for the only one that uses the transport
     * @throws ToolException if this Java runtime cannot attach to processes, as a JRE
     */
    public static JavaProcess attach(String command, String pidOrNull) {
        if (ModuleLayer.boot().findModule(ATTACH).isEmpty()) {
            throw new ToolException("this Java runtime has no module " + ATTACH + ", which attaches to another process:"
                    + " use the java of a JDK");
        }
        return pidOrNull == null ? JavaProcess.find(command) : JavaProcess.attach(command, pidOrNull);
    }
}
