package io.rdmaraw.verbs.objects;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.rdmaraw.ffi.NativeCall;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/**
 * Downcalls of the hot path.
 *
 * <p>Each signature has one static final handle, which the JIT compiler treats as a constant; the provider's
 * function pointer is the first argument. A handle bound to one provider would be an instance field, which
 * doubles the cost of a call.
 *
 * <p>The functions do not wait for the device, so the calls skip the thread state transition. The JVM reaches no
 * safepoint until a call returns. A card's functions return within microseconds. Those of softverbs may make system
 * calls, retry for about 50 microseconds while the interface makes no progress, and wait for a lock that another
 * thread holds briefly.
 */
final class HotCalls {
    /** {@code int poll_cq(struct ibv_cq *, int, struct ibv_wc *)}. */
    private static final MethodHandle POLL =
            NativeCall.criticalHandle(FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_INT, JAVA_LONG));
    /**
     * {@code int post(struct ibv_qp *, struct wr *, struct wr **)}: post_send, post_recv and post_wq_recv share
     * this signature.
     */
    private static final MethodHandle POST =
            NativeCall.criticalHandle(FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG));
    /** {@code int req_notify_cq(struct ibv_cq *, int)}. */
    private static final MethodHandle NOTIFY =
            NativeCall.criticalHandle(FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_INT));
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
