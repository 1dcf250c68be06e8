package io.rdmaraw.tools.top;

import io.rdmaraw.tools.command.ToolException;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/**
 * The process that a command examines, given as an argument or as an option. The default is the only process that uses
 * the transport.
 */
final class ProcessChoice {
    private static final String ATTACH = "jdk.attach";

    @Parameters(arity = "0..1", paramLabel = "PID",
            description = "the process; by default the only one with event loops of the transport")
    private String argument;

    @Option(names = "--pid", paramLabel = "PID", description = "the same")
    private String option;

    /**
     * Attaches to the process.
     *
     * @throws ToolException if this Java runtime cannot attach to processes, as a JRE
     */
    JavaProcess attach() {
        if (ModuleLayer.boot().findModule(ATTACH).isEmpty()) {
            throw new ToolException("this Java runtime has no module " + ATTACH + ", which attaches to another process:"
                    + " use the java of a JDK");
        }
        String pid = argument != null ? argument : option;
        return pid == null ? JavaProcess.find() : JavaProcess.attach(pid);
    }
}
