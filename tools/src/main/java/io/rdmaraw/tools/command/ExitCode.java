package io.rdmaraw.tools.command;

/** Exit codes of the commands, besides 0. */
public final class ExitCode {
    /** The arguments are wrong, and nothing was tried; picocli's value. */
    public static final int USAGE = 2;
    /** The command failed, or what it checks is not true. */
    public static final int FAILED = 1;

    private ExitCode() {
    }
}
