package io.rdmaraw.testsuite.contract;

/** The error that a program's handler throws. */
final class ProgramError extends Error {
    private static final long serialVersionUID = 1;

    ProgramError() {
        super("the program's handler", null, false, false);
    }
}
