package io.rdmaraw.tools;

/**
 * Ends a command because of something the user can put right. The message is one sentence that names it and the
 * remedy; it is shown without a stack trace.
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
