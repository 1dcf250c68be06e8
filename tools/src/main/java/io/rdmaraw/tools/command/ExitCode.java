package io.rdmaraw.tools.command;

/** Exit codes of the commands, besides 0. */
public final class ExitCode {
    /** The arguments are wrong, and nothing was tried; picocli's value. */
    public static final int USAGE = 2;
    /** The command failed, or what it checks is not true. */
    public static final int FAILED = 1;
    /** It was ended by Ctrl-C: 128 and the number of SIGINT, as shells have it. */
    public static final int INTERRUPTED = 130;

    /** For help texts. */
    static final String HELP = "%nExit codes: 0 well; 1 it failed, or what is checked is not so; 2 wrong arguments;"
            + " 130 interrupted.";

    private ExitCode() {
    }
}
