package io.rdmaraw.tools.command;

/** Exit codes of the commands, in addition to 0 for success. */
public final class ExitCode {
    /** The arguments are wrong, and nothing was executed. The value is picocli's. */
    public static final int USAGE = 2;
    /** The command failed, or a check did not pass. */
    public static final int FAILED = 1;
    /** The command was interrupted by Ctrl-C. As in shells, the code is 128 plus the number of SIGINT. */
    public static final int INTERRUPTED = 130;

    /** Footer of the help texts. */
    static final String HELP = "%nExit codes: 0 well; 1 it failed, or what is checked is not so; 2 wrong arguments;"
            + " 130 interrupted.";

    private ExitCode() {
    }
}
