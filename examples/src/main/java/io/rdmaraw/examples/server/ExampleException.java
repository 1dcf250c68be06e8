package io.rdmaraw.examples.server;

/** Ends a program because of an error that the user can correct. The message is one sentence. */
public final class ExampleException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /**
     * Creates the exception.
     *
     * @param message shown to the user without a stack trace
     */
    public ExampleException(String message) {
        super(message);
    }

    /**
     * Creates the exception.
     *
     * @param message shown to the user without a stack trace
     */
    public ExampleException(String message, Throwable cause) {
        super(message, cause);
    }
}
