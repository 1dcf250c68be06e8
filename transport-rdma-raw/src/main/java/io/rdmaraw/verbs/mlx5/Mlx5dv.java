package io.rdmaraw.verbs.mlx5;

import io.rdmaraw.ffi.NativeCall;
import io.rdmaraw.ffi.NativeLibrary;
import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.verbs.CompletionQueue;
import io.rdmaraw.verbs.QueuePair;
import io.rdmaraw.verbs.VerbsContext;
import io.rdmaraw.verbs.VerbsDevices;
import io.rdmaraw.verbs.VerbsException;
import io.rdmaraw.verbs.WorkQueue;
import java.lang.foreign.Arena;
import java.lang.foreign.SymbolLookup;

/** What libmlx5 tells of its objects ({@code infiniband/mlx5dv.h}): whether a device is its own, and where rings lie. */
public final class Mlx5dv {
    /** {@code MLX5DV_OBJ_QP}. */
    static final int OBJ_QP = 1;
    /** {@code MLX5DV_OBJ_CQ}. */
    static final int OBJ_CQ = 1 << 1;
    /** {@code MLX5DV_OBJ_RWQ}. */
    static final int OBJ_RWQ = 1 << 3;

    private static final String SONAME = "libmlx5.so.1";

    private Mlx5dv() {
    }

    /**
     * Tells why the rings of a device cannot be used in place.
     *
     * @return null when they can be
     */
    public static String unavailability(VerbsContext context) {
        if (context.deviceName().startsWith(VerbsDevices.SOFT_PREFIX)) {
            return context.deviceName() + " is a software device";
        }
        if (Library.LOADED.failure != null) {
            return Library.LOADED.failure;
        }
        if (Doorbell.unavailability() != null) {
            return Doorbell.unavailability();
        }
        return Library.LOADED.isSupported(context.nativeDeviceAddress()) ? null
                : context.deviceName() + " is not a device of libmlx5";
    }

    /** Tells whether a device is driven by libmlx5. */
    public static boolean isDriverOf(VerbsContext context) {
        return !context.deviceName().startsWith(VerbsDevices.SOFT_PREFIX) && Library.LOADED.failure == null
                && Library.LOADED.isSupported(context.nativeDeviceAddress());
    }

    /** Returns where the rings of a queue pair lie. */
    public static QueuePairRings rings(QueuePair queuePair) {
        try (Arena arena = Arena.ofConfined()) {
            long out = arena.allocate(Mlx5dvQpLayout.SIZE_BYTES, Long.BYTES).address();
            initObject(arena, OBJ_QP, Mlx5dvObjLayout.QP_IN_OFFSET, queuePair.nativeAddress(), out, "queue pair");
            return QueuePairRings.read(out, queuePair.number());
        }
    }

    /** Returns where the ring of a completion queue lies; from now on it must not be polled through verbs any more. */
    public static CompletionRing ring(CompletionQueue queue) {
        try (Arena arena = Arena.ofConfined()) {
            long out = arena.allocate(Mlx5dvCqLayout.SIZE_BYTES, Long.BYTES).address();
            initObject(arena, OBJ_CQ, Mlx5dvObjLayout.CQ_IN_OFFSET, queue.nativeAddress(), out, "completion queue");
            return CompletionRing.read(out);
        }
    }

    /** Returns where the ring of a work queue lies. */
    public static ReceiveQueueRing ring(WorkQueue queue) {
        try (Arena arena = Arena.ofConfined()) {
            long out = arena.allocate(Mlx5dvRwqLayout.SIZE_BYTES, Long.BYTES).address();
            initObject(arena, OBJ_RWQ, Mlx5dvObjLayout.RWQ_IN_OFFSET, queue.nativeAddress(), out, "work queue");
            return new ReceiveQueueRing(NativeMemory.getLong(out + Mlx5dvRwqLayout.BUF_OFFSET),
                    NativeMemory.getInt(out + Mlx5dvRwqLayout.WQE_CNT_OFFSET),
                    NativeMemory.getInt(out + Mlx5dvRwqLayout.STRIDE_OFFSET),
                    NativeMemory.getLong(out + Mlx5dvRwqLayout.DBREC_OFFSET));
        }
    }

    /** In and out pointers lie side by side for every kind of object. */
    private static void initObject(Arena arena, int kind, int inOffset, long in, long out, String what) {
        long object = arena.allocate(Mlx5dvObjLayout.ROOM_BYTES, Long.BYTES).address();
        NativeMemory.putLong(object + inOffset, in);
        NativeMemory.putLong(object + inOffset + Long.BYTES, out);
        VerbsException.check("mlx5dv_init_obj", NativeCall.status(Library.LOADED.initObj, object, kind), what);
    }

    /** libmlx5, or why it cannot be had. It is the same instance that libibverbs has loaded as its provider. */
    private static final class Library {
        static final Library LOADED = load();

        private final long isSupported;
        private final long initObj;
        private final String failure;

        private Library(long isSupported, long initObj, String failure) {
            this.isSupported = isSupported;
            this.initObj = initObj;
            this.failure = failure;
        }

        private static Library load() {
            try {
                SymbolLookup lookup = NativeLibrary.load(SONAME);
                long isSupported = address(lookup, "mlx5dv_is_supported");
                long initObj = address(lookup, "mlx5dv_init_obj");
                return isSupported != 0 && initObj != 0 ? new Library(isSupported, initObj, null)
                        : new Library(0, 0, SONAME + " is too old: it does not export mlx5dv_init_obj");
            } catch (UnsatisfiedLinkError e) {
                return new Library(0, 0, e.getMessage());
            }
        }

        private static long address(SymbolLookup lookup, String function) {
            return lookup.find(function).map(segment -> segment.address()).orElse(0L);
        }

        /** {@code bool} comes back in the low byte; the rest of the register is not defined. */
        boolean isSupported(long device) {
            return (NativeCall.intValue(isSupported, device, 0, 0) & 0xff) != 0;
        }
    }
}
