package io.rdmaraw.verbs;

import io.rdmaraw.ffi.Errno;

/**
 * Reports a failed verbs call. The message contains the failed call or action, the error and, if known, the remedy.
 * Programs catch such exceptions; only the transport creates them.
 */
public final class VerbsException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final String call;
    private final int errno;

    /**
     * Creates an exception with the given message; {@link #of} builds the usual one.
     *
     * @param call    the C function, for example {@code ibv_reg_mr}; not added to the message
     * @param errno   the error number, for example 1 for EPERM; not added to the message
     * @param message the complete message
     */
    public VerbsException(String call, int errno, String message) {
        super(message);
        this.call = call;
        this.errno = errno;
    }

    /**
     * Creates an exception for a failed call.
     *
     * @param call   the C function, for example {@code ibv_reg_mr}
     * @param errno  the error number
     * @param detail the important arguments, for example {@code 4096 bytes}, or an empty string
     */
    public static VerbsException of(String call, int errno, String detail) {
        StringBuilder text = new StringBuilder(call);
        if (!detail.isEmpty()) {
            text.append(" (").append(detail).append(')');
        }
        text.append(" failed: ").append(Errno.describe(errno));
        String remedy = VerbsErrors.remedy(call, errno);
        if (!remedy.isEmpty()) {
            text.append(": ").append(remedy);
        }
        return new VerbsException(call, errno, text.toString());
    }

    /**
     * Creates an exception for a failed call of softverbs, with the explanation that softverbs has returned.
     *
     * @param call        the C function; not part of the message
     * @param errno       the error number
     * @param what        the action that failed, for example {@code cannot open soft:xdp:eth0}
     * @param explanation the text of softverbs; if empty, the message describes the error number
     */
    public static VerbsException explained(String call, int errno, String what, String explanation) {
        return new VerbsException(call, errno,
                what + ": " + (explanation.isEmpty() ? VerbsErrors.unexplained(errno) : explanation));
    }

    /** Throws an exception if {@code errno} is not 0; see {@link #of}. */
    public static void check(String call, int errno, String detail) {
        if (errno != 0) {
            throw of(call, errno, detail);
        }
    }

    /** Returns a copy of this exception with text appended to the message. */
    public VerbsException adding(String more) {
        VerbsException longer = new VerbsException(call, errno, getMessage() + more);
        longer.setStackTrace(getStackTrace());
        return longer;
    }

    /** Returns the name of the failed C function. */
    public String call() {
        return call;
    }

    /** Returns the error number, for example 1 for EPERM. */
    public int errno() {
        return errno;
    }

    /** Returns the symbolic name of the error number, for example {@code EPERM}. */
    public String errnoName() {
        return Errno.name(errno);
    }
}
