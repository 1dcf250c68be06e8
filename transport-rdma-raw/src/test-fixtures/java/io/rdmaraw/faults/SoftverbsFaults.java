package io.rdmaraw.faults;

import io.rdmaraw.ffi.NativeCall;
import io.rdmaraw.verbs.CompletionQueue;
import io.rdmaraw.verbs.QueuePair;
import io.rdmaraw.verbs.VerbsContext;
import io.rdmaraw.verbs.VerbsException;
import io.rdmaraw.verbs.WorkQueue;
import io.rdmaraw.verbs.softverbs.Softverbs;
import io.rdmaraw.verbs.softverbs.SoftverbsQueueCounters;

import java.lang.foreign.Arena;

/**
 * What softverbs offers tests ({@code softverbs.h}): faults on demand, so that they see how a program takes them, and
 * what single queues have counted. For a device that was opened by a {@code soft:} name.
 */
public final class SoftverbsFaults {
    private final VerbsContext context;
    private final String device;

    private SoftverbsFaults(VerbsContext context) {
        this.context = context;
        device = context.providerDeviceName();
    }

    /**
     * Returns those of an open device.
     *
     * @throws IllegalArgumentException when another provider drives it
     */
    public static SoftverbsFaults of(VerbsContext context) {
        if (!Softverbs.isSoftverbs(context)) {
            throw new IllegalArgumentException(context.deviceName() + " is not a device of softverbs");
        }
        return new SoftverbsFaults(context);
    }

    /** Asks for what a queue pair has sent. */
    public SoftverbsQueueCounters sent(QueuePair queuePair) {
        return queueCounters(queuePair, true);
    }

    /** Asks for what a queue pair has received in its own receive queue. */
    public SoftverbsQueueCounters received(QueuePair queuePair) {
        return queueCounters(queuePair, false);
    }

    private SoftverbsQueueCounters queueCounters(QueuePair queuePair, boolean sent) {
        try (Arena arena = Arena.ofConfined()) {
            long memory = arena.allocate(SoftverbsQueueCounters.SIZE_BYTES, Long.BYTES).address();
            VerbsException.check("softverbs_query_qp_counters", NativeCall.status(extra("softverbs_query_qp_counters"),
                    queuePair.openAddress(), sent ? memory : 0, sent ? 0 : memory), "");
            return SoftverbsQueueCounters.read(memory);
        }
    }

    /** Asks for what a work queue has received. */
    public SoftverbsQueueCounters received(WorkQueue workQueue) {
        try (Arena arena = Arena.ofConfined()) {
            long memory = arena.allocate(SoftverbsQueueCounters.SIZE_BYTES, Long.BYTES).address();
            call("softverbs_query_wq_counters", workQueue.openAddress(), memory);
            return SoftverbsQueueCounters.read(memory);
        }
    }

    /** Sets the longest payload of a frame, 68 to 9000 bytes. */
    public void setMtu(int mtuBytes) {
        call("softverbs_set_mtu", context.openAddress(), mtuBytes);
    }

    /** Takes the port down or up. */
    public void setPortUp(boolean up) {
        call("softverbs_set_port_up", context.openAddress(), up ? 1 : 0);
    }

    /** Makes the device die: all queues go to ERR, calls fail with EIO. */
    public void failDevice() {
        VerbsException.check("softverbs_fail_device",
                NativeCall.status(extra("softverbs_fail_device"), context.openAddress()), device);
    }

    /** Brings a device back that {@link #failDevice} took. */
    public void repairDevice() {
        VerbsException.check("softverbs_repair_device",
                NativeCall.status(extra("softverbs_repair_device"), context.openAddress()), device);
    }

    /** Makes the next send or receive of a queue pair complete with a status other than success. */
    public void failNextCompletion(QueuePair queuePair, boolean receive, int wcStatus) {
        VerbsException.check("softverbs_fail_next_completion",
                NativeCall.status(extra("softverbs_fail_next_completion"), queuePair.openAddress(), receive ? 1 : 0,
                        wcStatus), device);
    }

    /** Makes the next receive of a TCP frame beyond the MTU complete so, in each queue of the device for such. */
    public void failNextWhole(int wcStatus) {
        callByName("softverbs_fail_next_whole", wcStatus);
    }

    /** Makes a completion queue take no more, as if it had overrun, until one of its queues has been reset. */
    public void overrun(CompletionQueue completionQueue) {
        VerbsException.check("softverbs_overrun_cq",
                NativeCall.status(extra("softverbs_overrun_cq"), completionQueue.openAddress()), device);
    }

    /** Limits the bytes that can be registered; -1 for no limit. */
    public void setMemlockLimit(long lengthBytes) {
        callByName("softverbs_set_memlock_limit", lengthBytes);
    }

    /** Limits the number of rules; -1 for no limit. */
    public void setFlowCapacity(int rules) {
        callByName("softverbs_set_flow_capacity", rules);
    }

    /** Makes the creation of raw-packet queue pairs fail with an error number; 0 to end it. */
    public void setRawPacketError(int errno) {
        callByName("softverbs_set_raw_packet_error", errno);
    }

    /** Makes the next calls of a kind fail. */
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
        return Softverbs.extra(context, function);
    }
}
