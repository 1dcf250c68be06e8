package io.rdmaraw.verbs.softverbs;

import io.rdmaraw.ffi.NativeCall;
import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.verbs.QueuePair;
import io.rdmaraw.verbs.VerbsContext;
import io.rdmaraw.verbs.VerbsDevices;
import io.rdmaraw.verbs.VerbsException;
import io.rdmaraw.verbs.WorkQueue;
import java.lang.foreign.Arena;
import java.util.function.LongFunction;

/**
 * What softverbs counts and does beyond libibverbs ({@code softverbs.h}). For a device that {@link VerbsDevices#open}
 * opened by a {@code soft:} name.
 */
public final class Softverbs {
    /** {@code SV_MODE_BYTES} of device.h. */
    private static final int MAX_MODE_BYTES = 384;

    private final VerbsContext context;

    private Softverbs(VerbsContext context) {
        this.context = context;
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
                received.cutFrames(), received.wholeFrames(), received.superFlags(),
                received.superUnsound(), received.superTooLong(), received.superDatagrams());
    }

    private <T> T query(LongFunction<T> read) {
        try (Arena arena = Arena.ofConfined()) {
            long memory = arena.allocate(SoftverbsCountersLayout.SIZE_BYTES, Long.BYTES).address();
            VerbsException.check("softverbs_query_counters",
                    NativeCall.status(extra(context, "softverbs_query_counters"), context.openAddress(), memory),
                    context.providerDeviceName());
            return read.apply(memory);
        }
    }

    /**
     * Returns how an open device runs and why, as a sentence: the mode of AF_XDP. Empty where there is nothing to
     * choose, or another provider drives it.
     */
    public static String modeOf(VerbsContext context) {
        return isSoftverbs(context)
                ? NativeMemory.segment(NativeCall.pointer(extra(context, "softverbs_mode"), context.openAddress()),
                        MAX_MODE_BYTES).getString(0)
                : "";
    }

    /**
     * Returns how long a TCP frame can be that the device hands over without cutting it to the MTU
     * ({@link #receiveWhole}); 0 when it gets none, or another provider drives it.
     */
    public static int wholeFrameBytes(VerbsContext context) {
        if (!isSoftverbs(context)) {
            return 0;
        }
        try (Arena arena = Arena.ofConfined()) {
            long bytes = arena.allocate(Integer.BYTES, Integer.BYTES).address();
            VerbsException.check("softverbs_get_whole_bytes",
                    NativeCall.status(extra(context, "softverbs_get_whole_bytes"), context.openAddress(), bytes),
                    context.providerDeviceName());
            return NativeMemory.getInt(bytes);
        }
    }

    /** Names the work queue where a queue pair's TCP frames beyond the MTU go whole, if a rule says they may. */
    public static void receiveWhole(VerbsContext context, QueuePair queuePair, WorkQueue large) {
        VerbsException.check("softverbs_receive_whole", NativeCall.status(extra(context, "softverbs_receive_whole"),
                queuePair.openAddress(), large.openAddress()), context.providerDeviceName());
    }

    /** As the other, for the frames of a work queue. */
    public static void receiveWhole(VerbsContext context, WorkQueue queue, WorkQueue large) {
        VerbsException.check("softverbs_receive_whole_wq",
                NativeCall.status(extra(context, "softverbs_receive_whole_wq"), queue.openAddress(),
                        large.openAddress()), context.providerDeviceName());
    }

    /** Returns the address of a function that softverbs has beyond libibverbs. */
    public static long extra(VerbsContext context, String function) {
        long address = context.library.extra(function);
        if (address == 0) {
            throw new IllegalStateException("this softverbs does not have " + function);
        }
        return address;
    }
}
