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
 * Calls C functions by address and captures {@code errno}. For calls outside the hot path.
 *
 * <p>All arguments are passed as {@code long}. Both supported calling conventions (System V x86-64, AAPCS64)
 * pass each integer or pointer in one 64-bit register, and the callee uses only the low bits. So one handle per
 * number of arguments serves all signatures. Functions with floating point, structure or variable arguments are
 * not supported.
 *
 * <p>Errors are part of the result, so that callers cannot overlook them: {@link #status} returns 0 or the
 * error number, {@link #value} returns the result or the negated error number.
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
     * Calls {@code int f(a)}. Returns 0 or the error number, which is a positive result, or errno if the result
     * is negative.
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

    /** Calls {@code void *f(a)}. Returns the pointer, or the negated errno instead of NULL ({@link #isError}). */
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

    /**
     * Calls {@code long f(a, b, c)}, which sets errno and returns -1 on failure. Returns the result or the
     * negated errno.
     */
    public static long value(long function, long a, long b, long c) {
        try {
            MemorySegment state = CALL_STATE.get();
            return foldMinusOne((long) LONG_3.invokeExact(function, state, a, b, c), state);
        } catch (Throwable e) {
            throw unexpected(e);
        }
    }

    /**
     * Calls {@code int f(a, b, c)}, which sets errno and returns -1 on failure. Returns the result or the
     * negated errno.
     */
    public static int intValue(long function, long a, long b, long c) {
        try {
            MemorySegment state = CALL_STATE.get();
            int result = (int) INT_3.invokeExact(function, state, a, b, c);
            return result != -1 ? result : -errnoOr(state, Errno.EIO);
        } catch (Throwable e) {
            throw unexpected(e);
        }
    }

    /** Calls {@code int f(a, b, c, d)}; see {@link #intValue(long, long, long, long)}. */
    public static int intValue(long function, long a, long b, long c, long d) {
        try {
            MemorySegment state = CALL_STATE.get();
            int result = (int) INT_4.invokeExact(function, state, a, b, c, d);
            return result != -1 ? result : -errnoOr(state, Errno.EIO);
        } catch (Throwable e) {
            throw unexpected(e);
        }
    }

    /** Calls {@code int f(a, b, c, d, e)}; see {@link #intValue(long, long, long, long)}. */
    public static int intValue(long function, long a, long b, long c, long d, long e) {
        try {
            MemorySegment state = CALL_STATE.get();
            int result = (int) INT_5.invokeExact(function, state, a, b, c, d, e);
            return result != -1 ? result : -errnoOr(state, Errno.EIO);
        } catch (Throwable failure) {
            throw unexpected(failure);
        }
    }

    /** Calls {@code long f(a, b, c, d, e, f)}; see {@link #value(long, long, long, long)}. */
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
     * Creates a handle for calls on the hot path that return soon, since the JVM reaches no safepoint during the
     * call, and that report no errno. Store it in a
     * {@code static final} field. The first argument is the address of the function as a {@link MemorySegment},
     * which should exist before the call: a segment created for the call is not always optimised away, and then
     * each call allocates.
     */
    public static MethodHandle criticalHandle(FunctionDescriptor descriptor) {
        return Downcalls.critical(descriptor);
    }

    /** Returns the error to throw after an exception of a method handle, which is always a programming error. */
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

    /** Returns errno, or a fallback if the failed call did not set it. */
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
