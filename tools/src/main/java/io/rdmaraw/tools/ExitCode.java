package io.rdmaraw.tools;

/** What a command ends with, besides 0. */
public final class ExitCode {
    /** As BSD's sysexits and picocli have it: the arguments are wrong, nothing was tried. */
    public static final int USAGE = 2;
    /** The command ran and what it checks is not so, or it could not run. */
    public static final int FAILED = 1;

    private ExitCode() {
    }
}
