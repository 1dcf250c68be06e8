package io.rdmaraw.verbs;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.rdmaraw.ffi.NativeCall;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/**
 * The downcalls of the hot path: one handle for each signature, constant for the compiler, with the provider's function
 * pointer as first argument. A handle bound to one provider would have to live in an instance field, which costs twice
 * as much per call. The calls neither block nor run long, so they stay in the Java thread state.
 */
final class HotCalls {
    /** {@code int poll_cq(struct ibv_cq *, int, struct ibv_wc *)}. */
    private static final MethodHandle POLL =
            NativeCall.hottestHandle(FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_INT, JAVA_LONG));
    /** {@code int post(struct ibv_qp *, struct wr *, struct wr **)}: send, receive, and the receive of a work queue. */
    private static final MethodHandle POST =
            NativeCall.hottestHandle(FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG));
    /** {@code int req_notify_cq(struct ibv_cq *, int)}. */
    private static final MethodHandle NOTIFY =
            NativeCall.hottestHandle(FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_INT));
    private HotCalls() {
    }

    static int poll(MemorySegment function, long cq, int maxEntries, long wcArray) {
        try {
            return (int) POLL.invokeExact(function, cq, maxEntries, wcArray);
        } catch (Throwable e) {
            throw NativeCall.unexpected(e);
        }
    }

    static int post(MemorySegment function, long queue, long firstWr, long badWrPointer) {
        try {
            return (int) POST.invokeExact(function, queue, firstWr, badWrPointer);
        } catch (Throwable e) {
            throw NativeCall.unexpected(e);
        }
    }

    static int requestNotification(MemorySegment function, long cq, int solicitedOnly) {
        try {
            return (int) NOTIFY.invokeExact(function, cq, solicitedOnly);
        } catch (Throwable e) {
            throw NativeCall.unexpected(e);
        }
    }
}
