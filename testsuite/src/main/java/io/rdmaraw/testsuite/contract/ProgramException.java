package io.rdmaraw.testsuite.contract;

/** The exception that a program's handler throws. */
final class ProgramException extends RuntimeException {
    private static final long serialVersionUID = 1;

    ProgramException() {
        super("the program's handler", null, false, false);
    }
}
