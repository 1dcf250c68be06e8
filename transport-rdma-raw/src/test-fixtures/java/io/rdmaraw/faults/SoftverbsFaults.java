package io.rdmaraw.faults;

import io.rdmaraw.ffi.NativeCall;
import io.rdmaraw.verbs.VerbsException;
import io.rdmaraw.verbs.objects.CompletionQueue;
import io.rdmaraw.verbs.objects.QueuePair;
import io.rdmaraw.verbs.objects.VerbsContext;
import io.rdmaraw.verbs.objects.WorkQueue;
import io.rdmaraw.verbs.softverbs.Softverbs;
import io.rdmaraw.verbs.softverbs.SoftverbsQueueCounters;

import java.lang.foreign.Arena;

/**
 * Test functions of softverbs ({@code softverbs.h}): injected faults and the counters of single queues. The device must
 * have been opened by a {@code soft:} name.
 */
public final class SoftverbsFaults {
    private final VerbsContext context;
    private final String device;

    private SoftverbsFaults(VerbsContext context) {
        this.context = context;
        device = context.providerDeviceName();
    }

    /**
     * Returns the test functions of an open device.
     *
     * @throws IllegalArgumentException if the device belongs to another provider
     */
    public static SoftverbsFaults of(VerbsContext context) {
        if (!Softverbs.isSoftverbs(context)) {
            throw new IllegalArgumentException(context.deviceName() + " is not a device of softverbs");
        }
        return new SoftverbsFaults(context);
    }

    /** Returns the counters of a queue pair's sends. */
    public SoftverbsQueueCounters sent(QueuePair queuePair) {
        return queueCounters(queuePair, true);
    }

    /** Returns the counters of a queue pair's own receive queue. */
    public SoftverbsQueueCounters received(QueuePair queuePair) {
        return queueCounters(queuePair, false);
    }

    private SoftverbsQueueCounters queueCounters(QueuePair queuePair, boolean sent) {
        try (Arena arena = Arena.ofConfined()) {
            long memory = arena.allocate(SoftverbsQueueCounters.SIZE_BYTES, Long.BYTES).address();
            VerbsException.check("softverbs_query_qp_counters", NativeCall.status(extra("softverbs_query_qp_counters"),
                    queuePair.nativeAddress(), sent ? memory : 0, sent ? 0 : memory), "");
            return SoftverbsQueueCounters.read(memory);
        }
    }

    /** Returns the counters of a work queue's receives. */
    public SoftverbsQueueCounters received(WorkQueue workQueue) {
        try (Arena arena = Arena.ofConfined()) {
            long memory = arena.allocate(SoftverbsQueueCounters.SIZE_BYTES, Long.BYTES).address();
            call("softverbs_query_wq_counters", workQueue.nativeAddress(), memory);
            return SoftverbsQueueCounters.read(memory);
        }
    }

    /** Sets the MTU in bytes, 68 to 9000. */
    public void setMtu(int mtuBytes) {
        call("softverbs_set_mtu", context.nativeAddress(), mtuBytes);
    }

    /** Sets the state of the port. */
    public void setPortUp(boolean up) {
        call("softverbs_set_port_up", context.nativeAddress(), up ? 1 : 0);
    }

    /** Fails the device: all queues enter the error state and calls fail with EIO. */
    public void failDevice() {
        VerbsException.check("softverbs_fail_device",
                NativeCall.status(extra("softverbs_fail_device"), context.nativeAddress()), device);
    }

    /** Repairs a device after {@link #failDevice}. */
    public void repairDevice() {
        VerbsException.check("softverbs_repair_device",
                NativeCall.status(extra("softverbs_repair_device"), context.nativeAddress()), device);
    }

    /** Completes the next send or receive of a queue pair with an error status and moves the queue pair to ERR. */
    public void failNextCompletion(QueuePair queuePair, boolean receive, int wcStatus) {
        VerbsException.check("softverbs_fail_next_completion",
                NativeCall.status(extra("softverbs_fail_next_completion"), queuePair.nativeAddress(), receive ? 1 : 0,
                        wcStatus), device);
    }

    /**
     * Completes the next receive of a TCP frame longer than the MTU with a status, in each queue that accepts such
     * frames.
     */
    public void failNextWhole(int wcStatus) {
        callByName("softverbs_fail_next_gso_frame", wcStatus);
    }

    /** Overruns a completion queue. It works again after a queue pair or work queue that completes to it was reset. */
    public void overrun(CompletionQueue completionQueue) {
        VerbsException.check("softverbs_overrun_cq",
                NativeCall.status(extra("softverbs_overrun_cq"), completionQueue.nativeAddress()), device);
    }

    /** Limits the bytes that can be registered; -1 for no limit. */
    public void setMemlockLimit(long lengthBytes) {
        callByName("softverbs_set_memlock_limit", lengthBytes);
    }

    /** Limits the number of flow rules; -1 for no limit. */
    public void setFlowCapacity(int rules) {
        callByName("softverbs_set_flow_capacity", rules);
    }

    /** Fails the creation of raw-packet queue pairs with an error number; 0 ends this. */
    public void setRawPacketError(int errno) {
        callByName("softverbs_set_raw_packet_error", errno);
    }

    /** Fails the next calls of a kind. */
    public void failNextCall(SoftverbsCall call, int errno, int calls) {
        try (Arena arena = Arena.ofConfined()) {
            VerbsException.check("softverbs_fail_next_call", NativeCall.status(extra("softverbs_fail_next_call"),
                    arena.allocateFrom(device).address(), call.ordinal(), errno, calls), device);
        }
    }

    private void callByName(String function, long value) {
        try (Arena arena = Arena.ofConfined()) {
            call(function, arena.allocateFrom(device).address(), value);
        }
    }

    private void call(String function, long a, long b) {
        VerbsException.check(function, NativeCall.status(extra(function), a, b), device);
    }

    private long extra(String function) {
        return Softverbs.function(context, function);
    }
}
