package io.rdmaraw.tools.command;

/**
 * Ends a command because of something that the user can correct. The message is one sentence that names the fault and
 * the remedy; it is shown without a stack trace.
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
