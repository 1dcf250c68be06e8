package io.rdmaraw.verbs.softverbs;

import io.rdmaraw.ffi.NativeCall;
import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.verbs.CompletionQueue;
import io.rdmaraw.verbs.DeviceCounters;
import io.rdmaraw.verbs.QueuePair;
import io.rdmaraw.verbs.VerbsContext;
import io.rdmaraw.verbs.VerbsDevices;
import io.rdmaraw.verbs.VerbsException;
import io.rdmaraw.verbs.WorkQueue;
import java.lang.foreign.Arena;
import java.util.function.LongFunction;

/**
 * What softverbs offers beyond libibverbs ({@code softverbs.h}): counters, and faults on demand, so that tests can see
 * how a program takes them. For a device that {@link VerbsDevices#open} opened by a {@code soft:} name.
 */
public final class Softverbs {
    private final VerbsContext context;
    private final String device;

    private Softverbs(VerbsContext context) {
        this.context = context;
        device = context.providerDeviceName();
    }

    /**
     * Returns the extras of an open device.
     *
     * @throws IllegalArgumentException when another provider drives it
     */
    public static Softverbs of(VerbsContext context) {
        if (!isSoftverbs(context)) {
            throw new IllegalArgumentException(context.deviceName() + " is not a device of softverbs");
        }
        return new Softverbs(context);
    }

    /** Returns whether softverbs drives the device. */
    public static boolean isSoftverbs(VerbsContext context) {
        return context.library.addDevice != 0;
    }

    /** Asks for what the device has sent since it was first opened, all queues together. */
    public SoftverbsQueueCounters sent() {
        return query(memory -> SoftverbsQueueCounters.read(memory + SoftverbsCountersLayout.SENT_OFFSET));
    }

    /** Asks for what the device has received since it was first opened, all queues together. */
    public SoftverbsQueueCounters received() {
        return query(memory -> SoftverbsQueueCounters.read(memory + SoftverbsCountersLayout.RECEIVED_OFFSET));
    }

    /** Asks for the counters of a device: those of softverbs, or {@link DeviceCounters#NONE} with other providers. */
    public static DeviceCounters countersOf(VerbsContext context) {
        if (!isSoftverbs(context)) {
            return DeviceCounters.NONE;
        }
        return new Softverbs(context).query(memory -> {
            SoftverbsQueueCounters received = SoftverbsQueueCounters.read(
                    memory + SoftverbsCountersLayout.RECEIVED_OFFSET);
            SoftverbsQueueCounters sent = SoftverbsQueueCounters.read(memory + SoftverbsCountersLayout.SENT_OFFSET);
            return new DeviceCounters(received.wireFull(), received.synsFull(), received.unsolicitedFull(),
                    received.unserved(), received.noReceive(), received.copied(),
                    received.lengthErrors(), sent.superFrames(), fromSameHost(received),
                    NativeMemory.getLong(memory + SoftverbsCountersLayout.KERNEL_VISIBLE_RULES_OFFSET));
        });
    }

    private static DeviceCounters.FromSameHost fromSameHost(SoftverbsQueueCounters received) {
        return new DeviceCounters.FromSameHost(received.partialChecksums(), received.superFrames(),
                received.cutFrames(), received.superFlags(), received.superUnsound(), received.superTooLong(),
                received.superDatagrams());
    }

    private <T> T query(LongFunction<T> read) {
        try (Arena arena = Arena.ofConfined()) {
            long memory = arena.allocate(SoftverbsCountersLayout.SIZE_BYTES, Long.BYTES).address();
            call("softverbs_query_counters", context.openAddress(), memory);
            return read.apply(memory);
        }
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
        long address = context.library.extra(function);
        if (address == 0) {
            throw new IllegalStateException("this softverbs does not have " + function);
        }
        return address;
    }
}
