package io.rdmaraw.examples.server;

/** Ends a program because of something that the user can correct; the message is one sentence. */
public final class ExampleException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /** @param message shown to the user without a stack trace */
    public ExampleException(String message) {
        super(message);
    }

    /** @param message shown to the user without a stack trace */
    public ExampleException(String message, Throwable cause) {
        super(message, cause);
    }
}
