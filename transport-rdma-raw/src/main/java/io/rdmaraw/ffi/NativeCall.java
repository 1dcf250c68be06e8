package io.rdmaraw.ffi;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.Arrays;

/**
 * Calls C functions by address and captures {@code errno}: for calls that are not on the hot path.
 *
 * <p>Every argument is passed as a {@code long}. Both calling conventions that we run on (System V x86-64, AAPCS64)
 * give each integer or pointer argument one 64-bit register and let the callee look at the low bits only, so one handle
 * per number of arguments serves every signature. Functions of floating point, struct or variable arguments do not fit.
 *
 * <p>An error is folded into the result, so that no caller can forget to ask for it:
 * {@link #status} gives 0 or the positive error number, {@link #value} gives the result or the negated error number.
 */
public final class NativeCall {
    private static final int MAX_ERRNO = 4095;
    private static final StructLayout STATE = Linker.Option.captureStateLayout();
    private static final long ERRNO_OFFSET = STATE.byteOffset(MemoryLayout.PathElement.groupElement("errno"));
    private static final ThreadLocal<MemorySegment> CALL_STATE =
            ThreadLocal.withInitial(() -> Arena.ofAuto().allocate(STATE));

    private static final MethodHandle INT_1 = capturing(ValueLayout.JAVA_INT, 1);
    private static final MethodHandle INT_2 = capturing(ValueLayout.JAVA_INT, 2);
    private static final MethodHandle INT_3 = capturing(ValueLayout.JAVA_INT, 3);
    private static final MethodHandle INT_4 = capturing(ValueLayout.JAVA_INT, 4);
    private static final MethodHandle INT_5 = capturing(ValueLayout.JAVA_INT, 5);
    private static final MethodHandle LONG_1 = capturing(ValueLayout.JAVA_LONG, 1);
    private static final MethodHandle LONG_2 = capturing(ValueLayout.JAVA_LONG, 2);
    private static final MethodHandle LONG_3 = capturing(ValueLayout.JAVA_LONG, 3);
    private static final MethodHandle LONG_4 = capturing(ValueLayout.JAVA_LONG, 4);
    private static final MethodHandle LONG_5 = capturing(ValueLayout.JAVA_LONG, 5);
    private static final MethodHandle LONG_6 = capturing(ValueLayout.JAVA_LONG, 6);

    private NativeCall() {
    }

    /**
     * Calls {@code int f(a)}; returns 0, or the error number (a positive result, or errno when the result is negative).
     */
    public static int status(long function, long a) {
        try {
            MemorySegment state = CALL_STATE.get();
            return fold((int) INT_1.invokeExact(function, state, a), state);
        } catch (Throwable e) {
            throw unexpected(e);
        }
    }

    /** Calls {@code int f(a, b)}; see {@link #status(long, long)}. */
    public static int status(long function, long a, long b) {
        try {
            MemorySegment state = CALL_STATE.get();
            return fold((int) INT_2.invokeExact(function, state, a, b), state);
        } catch (Throwable e) {
            throw unexpected(e);
        }
    }

    /** Calls {@code int f(a, b, c)}; see {@link #status(long, long)}. */
    public static int status(long function, long a, long b, long c) {
        try {
            MemorySegment state = CALL_STATE.get();
            return fold((int) INT_3.invokeExact(function, state, a, b, c), state);
        } catch (Throwable e) {
            throw unexpected(e);
        }
    }

    /** Calls {@code int f(a, b, c, d)}; see {@link #status(long, long)}. */
    public static int status(long function, long a, long b, long c, long d) {
        try {
            MemorySegment state = CALL_STATE.get();
            return fold((int) INT_4.invokeExact(function, state, a, b, c, d), state);
        } catch (Throwable e) {
            throw unexpected(e);
        }
    }

    /**
     * Calls {@code void *f(a)}; returns the pointer, or the negated errno in place of NULL ({@link #isError}).
     */
    public static long pointer(long function, long a) {
        try {
            MemorySegment state = CALL_STATE.get();
            return foldNull((long) LONG_1.invokeExact(function, state, a), state);
        } catch (Throwable e) {
            throw unexpected(e);
        }
    }

    /** Calls {@code void *f(a, b)}; see {@link #pointer(long, long)}. */
    public static long pointer(long function, long a, long b) {
        try {
            MemorySegment state = CALL_STATE.get();
            return foldNull((long) LONG_2.invokeExact(function, state, a, b), state);
        } catch (Throwable e) {
            throw unexpected(e);
        }
    }

    /** Calls {@code void *f(a, b, c)}; see {@link #pointer(long, long)}. */
    public static long pointer(long function, long a, long b, long c) {
        try {
            MemorySegment state = CALL_STATE.get();
            return foldNull((long) LONG_3.invokeExact(function, state, a, b, c), state);
        } catch (Throwable e) {
            throw unexpected(e);
        }
    }

    /** Calls {@code void *f(a, b, c, d)}; see {@link #pointer(long, long)}. */
    public static long pointer(long function, long a, long b, long c, long d) {
        try {
            MemorySegment state = CALL_STATE.get();
            return foldNull((long) LONG_4.invokeExact(function, state, a, b, c, d), state);
        } catch (Throwable e) {
            throw unexpected(e);
        }
    }

    /** Calls {@code void *f(a, b, c, d, e)}; see {@link #pointer(long, long)}. */
    public static long pointer(long function, long a, long b, long c, long d, long e) {
        try {
            MemorySegment state = CALL_STATE.get();
            return foldNull((long) LONG_5.invokeExact(function, state, a, b, c, d, e), state);
        } catch (Throwable failure) {
            throw unexpected(failure);
        }
    }

    /** Calls a {@code long f(a, b, c)} that gives -1 and errno on error; returns the result or the negated errno. */
    public static long value(long function, long a, long b, long c) {
        try {
            MemorySegment state = CALL_STATE.get();
            return foldMinusOne((long) LONG_3.invokeExact(function, state, a, b, c), state);
        } catch (Throwable e) {
            throw unexpected(e);
        }
    }

    /** Calls an {@code int f(a, b, c)} that gives -1 and errno on error; returns the result or the negated errno. */
    public static int intValue(long function, long a, long b, long c) {
        try {
            MemorySegment state = CALL_STATE.get();
            int result = (int) INT_3.invokeExact(function, state, a, b, c);
            return result != -1 ? result : -errnoOr(state, Errno.EIO);
        } catch (Throwable e) {
            throw unexpected(e);
        }
    }

    /** Calls an {@code int f(a, b, c, d)}; see {@link #intValue(long, long, long, long)}. */
    public static int intValue(long function, long a, long b, long c, long d) {
        try {
            MemorySegment state = CALL_STATE.get();
            int result = (int) INT_4.invokeExact(function, state, a, b, c, d);
            return result != -1 ? result : -errnoOr(state, Errno.EIO);
        } catch (Throwable e) {
            throw unexpected(e);
        }
    }

    /** Calls an {@code int f(a, b, c, d, e)}; see {@link #intValue(long, long, long, long)}. */
    public static int intValue(long function, long a, long b, long c, long d, long e) {
        try {
            MemorySegment state = CALL_STATE.get();
            int result = (int) INT_5.invokeExact(function, state, a, b, c, d, e);
            return result != -1 ? result : -errnoOr(state, Errno.EIO);
        } catch (Throwable failure) {
            throw unexpected(failure);
        }
    }

    /** Calls a {@code long f(a, b, c, d, e, f)}; see {@link #value(long, long, long, long)}. */
    public static long value(long function, long a, long b, long c, long d, long e, long f) {
        try {
            MemorySegment state = CALL_STATE.get();
            return foldMinusOne((long) LONG_6.invokeExact(function, state, a, b, c, d, e, f), state);
        } catch (Throwable failure) {
            throw unexpected(failure);
        }
    }

    /** Returns whether a result of {@code pointer}, {@code value} or {@code intValue} is a negated error number. */
    public static boolean isError(long result) {
        return result < 0 && result >= -MAX_ERRNO;
    }

    /**
     * Makes an unbound handle for calls that are on the hot path, return at once and report no errno; such a handle
     * belongs in a {@code static final} field. The address of the function comes first, as a {@link MemorySegment}: one
     * made for the call is not always optimised away, and then each call allocates.
     */
    public static MethodHandle hottestHandle(FunctionDescriptor descriptor) {
        return Downcalls.critical(descriptor);
    }

    /** What to throw when a method handle throws: nothing but a programming error can be the reason. */
    public static Error unexpected(Throwable e) {
        if (e instanceof Error error) {
            return error;
        }
        return new AssertionError("native call failed before it reached C", e);
    }

    private static int fold(int result, MemorySegment state) {
        return result >= 0 ? result : errnoOr(state, Errno.EIO);
    }

    private static long foldNull(long pointer, MemorySegment state) {
        return pointer != 0 ? pointer : -errnoOr(state, Errno.ENOMEM);
    }

    private static long foldMinusOne(long result, MemorySegment state) {
        return result != -1 ? result : -errnoOr(state, Errno.EIO);
    }

    /** A failed call that left errno at 0 still failed. */
    private static int errnoOr(MemorySegment state, int fallback) {
        int errno = state.get(ValueLayout.JAVA_INT, ERRNO_OFFSET);
        return errno > 0 ? errno : fallback;
    }

    private static MethodHandle capturing(MemoryLayout result, int arguments) {
        MemoryLayout[] parameters = new MemoryLayout[arguments];
        Arrays.fill(parameters, ValueLayout.JAVA_LONG);
        return addressFirst(Downcalls.capturingErrno(FunctionDescriptor.of(result, parameters)));
    }

    private static MethodHandle addressFirst(MethodHandle handle) {
        try {
            return MethodHandles.filterArguments(handle, 0, MethodHandles.lookup().findStatic(MemorySegment.class,
                    "ofAddress", MethodType.methodType(MemorySegment.class, long.class)));
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }
}
