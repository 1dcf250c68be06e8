package io.rdmaraw.verbs.softverbs;

import io.rdmaraw.ffi.NativeCall;
import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.verbs.VerbsException;
import io.rdmaraw.verbs.objects.QueuePair;
import io.rdmaraw.verbs.objects.VerbsContext;
import io.rdmaraw.verbs.objects.VerbsDevices;
import io.rdmaraw.verbs.objects.WorkQueue;
import io.rdmaraw.verbs.softverbs.SoftverbsLayouts.SoftverbsCountersLayout;
import java.lang.foreign.Arena;
import java.util.function.LongFunction;

/**
 * Functions of softverbs that libibverbs does not have ({@code softverbs.h}), for devices opened with
 * {@link VerbsDevices#open} under a {@code soft:} name.
 */
public final class Softverbs {
    /** {@code SV_MODE_TEXT_BYTES} of device.h. */
    private static final int MAX_MODE_BYTES = 512;

    private final VerbsContext context;

    private Softverbs(VerbsContext context) {
        this.context = context;
    }

    /**
     * Returns the extensions of an open device.
     *
     * @throws IllegalArgumentException if another provider drives the device
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

    /** Queries the counters of sent frames since the device was first opened, summed over all queues. */
    public SoftverbsQueueCounters sentCounters() {
        return query(memory -> SoftverbsQueueCounters.read(memory + SoftverbsCountersLayout.SENT_OFFSET));
    }

    /** Queries the counters of received frames since the device was first opened, summed over all queues. */
    public SoftverbsQueueCounters receivedCounters() {
        return query(memory -> SoftverbsQueueCounters.read(memory + SoftverbsCountersLayout.RECEIVED_OFFSET));
    }

    /** Queries the counters of a device. Returns {@link DeviceCounters#NONE} for other providers. */
    public static DeviceCounters countersOf(VerbsContext context) {
        if (!isSoftverbs(context)) {
            return DeviceCounters.NONE;
        }
        return new Softverbs(context).query(memory -> {
            SoftverbsQueueCounters received = SoftverbsQueueCounters.read(
                    memory + SoftverbsCountersLayout.RECEIVED_OFFSET);
            SoftverbsQueueCounters sent = SoftverbsQueueCounters.read(memory + SoftverbsCountersLayout.SENT_OFFSET);
            return new DeviceCounters(received.ringFull(), received.synRingFull(), received.unsolicitedDrops(),
                    received.driverNoBuffer(), received.unserved(), received.portDown(), received.noReceive(),
                    sent.ringFull() + sent.portDown(), sent.unserved(), received.copied(),
                    received.lengthErrors(), sent.gsoFrames(), fromSameHost(received),
                    NativeMemory.getLong(memory + SoftverbsCountersLayout.KERNEL_VISIBLE_RULES_OFFSET));
        });
    }

    private static DeviceCounters.FromSameHost fromSameHost(SoftverbsQueueCounters received) {
        return new DeviceCounters.FromSameHost(received.partialChecksums(), received.gsoFrames(),
                received.gsoSegments(), received.gsoUnsegmented(), received.gsoFlagDrops(),
                received.gsoMalformedDrops(), received.gsoTooLongDrops(), received.gsoDatagrams());
    }

    private <T> T query(LongFunction<T> read) {
        try (Arena arena = Arena.ofConfined()) {
            long memory = arena.allocate(SoftverbsCountersLayout.SIZE_BYTES, Long.BYTES).address();
            VerbsException.check("softverbs_query_counters",
                    NativeCall.status(function(context, "softverbs_query_counters"), context.nativeAddress(), memory),
                    context.providerDeviceName());
            return read.apply(memory);
        }
    }

    /**
     * Returns a sentence about the AF_XDP mode of a device and the reason for it. Empty for devices without
     * modes and for other providers.
     */
    public static String modeOf(VerbsContext context) {
        return isSoftverbs(context)
                ? NativeMemory.segment(NativeCall.pointer(function(context, "softverbs_mode"), context.nativeAddress()),
                        MAX_MODE_BYTES).getString(0)
                : "";
    }

    /**
     * Returns the maximum length of the TCP packets that the device delivers without segmentation
     * ({@link #receiveGso}), or 0 if it delivers none or another provider drives it.
     */
    public static int maxGsoBytes(VerbsContext context) {
        if (!isSoftverbs(context)) {
            return 0;
        }
        try (Arena arena = Arena.ofConfined()) {
            long bytes = arena.allocate(Integer.BYTES, Integer.BYTES).address();
            VerbsException.check("softverbs_get_max_gso_bytes",
                    NativeCall.status(function(context, "softverbs_get_max_gso_bytes"), context.nativeAddress(), bytes),
                    context.providerDeviceName());
            return NativeMemory.getInt(bytes);
        }
    }

    /**
     * Sets the work queue that receives GSO frames of TCP for a queue pair, for rules that accept
     * them.
     */
    public static void receiveGso(VerbsContext context, QueuePair queuePair, WorkQueue gsoQueue) {
        VerbsException.check("softverbs_set_qp_gso_wq", NativeCall.status(function(context, "softverbs_set_qp_gso_wq"),
                queuePair.nativeAddress(), gsoQueue.nativeAddress()), context.providerDeviceName());
    }

    /**
     * Sets the work queue that receives GSO frames of TCP for another work queue, for rules that
     * accept them.
     */
    public static void receiveGso(VerbsContext context, WorkQueue queue, WorkQueue gsoQueue) {
        VerbsException.check("softverbs_set_wq_gso_wq",
                NativeCall.status(function(context, "softverbs_set_wq_gso_wq"), queue.nativeAddress(),
                        gsoQueue.nativeAddress()), context.providerDeviceName());
    }

    /** Returns the address of a softverbs function that libibverbs does not have. */
    public static long function(VerbsContext context, String function) {
        long address = context.library.optionalFunction(function);
        if (address == 0) {
            throw new IllegalStateException("this softverbs does not have " + function);
        }
        return address;
    }
}
