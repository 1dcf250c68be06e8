package io.rdmaraw.tools.command;

/**
 * Ends a command because of an error that the user can correct. The message is one sentence with the error and the
 * remedy; it is printed without a stack trace.
 */
public final class ToolException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    public ToolException(String message) {
        super(message);
    }

    public ToolException(String message, Throwable cause) {
        super(message, cause);
    }
}
