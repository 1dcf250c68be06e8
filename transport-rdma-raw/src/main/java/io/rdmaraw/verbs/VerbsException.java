package io.rdmaraw.verbs;

import io.rdmaraw.ffi.Errno;

/** A verbs call failed. The message names the call, the error and, where one is known, the remedy. */
public final class VerbsException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final String call;
    private final int errno;

    VerbsException(String call, int errno, String message) {
        super(message);
        this.call = call;
        this.errno = errno;
    }

    /**
     * Describes a failed call.
     *
     * @param call   the C function, for example {@code ibv_reg_mr}
     * @param detail what was asked for, for example {@code 4096 bytes}, or an empty string
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

    /** Throws when {@code errno} is not 0; see {@link #of}. */
    public static void check(String call, int errno, String detail) {
        if (errno != 0) {
            throw of(call, errno, detail);
        }
    }

    /** Returns the same error whose message says more. */
    public VerbsException adding(String more) {
        VerbsException longer = new VerbsException(call, errno, getMessage() + more);
        longer.setStackTrace(getStackTrace());
        return longer;
    }

    /** Returns the name of the C function that failed. */
    public String call() {
        return call;
    }

    /** Returns the error number, for example 1 for EPERM. */
    public int errno() {
        return errno;
    }

    /** Returns the name of the error number, for example {@code EPERM}. */
    public String errnoName() {
        return Errno.name(errno);
    }
}
