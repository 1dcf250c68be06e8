package io.rdmaraw.verbs.mlx5;

import io.rdmaraw.ffi.Errno;
import io.rdmaraw.ffi.NativeCall;
import io.rdmaraw.ffi.NativeLibrary;
import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.verbs.DeviceName;
import io.rdmaraw.verbs.VerbsException;
import io.rdmaraw.verbs.abi.StridingLimits;
import io.rdmaraw.verbs.mlx5.Mlx5dvLayouts.Mlx5dvContextLayout;
import io.rdmaraw.verbs.mlx5.Mlx5dvLayouts.Mlx5dvCqInitAttrLayout;
import io.rdmaraw.verbs.mlx5.Mlx5dvLayouts.Mlx5dvCqLayout;
import io.rdmaraw.verbs.mlx5.Mlx5dvLayouts.Mlx5dvObjLayout;
import io.rdmaraw.verbs.mlx5.Mlx5dvLayouts.Mlx5dvQpInitAttrLayout;
import io.rdmaraw.verbs.mlx5.Mlx5dvLayouts.Mlx5dvQpLayout;
import io.rdmaraw.verbs.mlx5.Mlx5dvLayouts.Mlx5dvRwqLayout;
import io.rdmaraw.verbs.mlx5.Mlx5dvLayouts.Mlx5dvWqInitAttrLayout;
import io.rdmaraw.verbs.objects.CompletionChannel;
import io.rdmaraw.verbs.objects.CompletionQueue;
import io.rdmaraw.verbs.objects.ExtendedCompletionQueueOptions;
import io.rdmaraw.verbs.objects.ExtendedDeviceAttributes;
import io.rdmaraw.verbs.objects.ProtectionDomain;
import io.rdmaraw.verbs.objects.QueuePair;
import io.rdmaraw.verbs.objects.VerbsContext;
import io.rdmaraw.verbs.objects.WorkQueue;
import java.lang.foreign.Arena;
import java.lang.foreign.SymbolLookup;
import java.util.Optional;

/** Binding of {@code infiniband/mlx5dv.h}: identifies devices of libmlx5 and locates the rings of its objects. */
public final class Mlx5dv {
    /** {@code MLX5DV_OBJ_QP}. */
    static final int OBJ_QP = 1;
    /** {@code MLX5DV_OBJ_CQ}. */
    static final int OBJ_CQ = 1 << 1;
    /** {@code MLX5DV_OBJ_RWQ}. */
    static final int OBJ_RWQ = 1 << 3;

    /** {@code MLX5DV_CONTEXT_MASK_CQE_COMPRESION}, spelt as in the header. */
    static final int CONTEXT_MASK_CQE_COMPRESION = 1;
    /** {@code MLX5DV_CQ_INIT_ATTR_MASK_COMPRESSED_CQE}. */
    static final int CQ_INIT_ATTR_MASK_COMPRESSED_CQE = 1;
    /** {@code MLX5DV_CQE_RES_FORMAT_HASH}, supported by every device with compression. */
    static final int CQE_RES_FORMAT_HASH = 1;
    /** {@code MLX5DV_CQE_RES_FORMAT_CSUM_STRIDX}, which includes stride indices. */
    static final int CQE_RES_FORMAT_CSUM_STRIDX = 1 << 2;
    /** {@code MLX5DV_CONTEXT_MASK_STRIDING_RQ}. */
    static final int CONTEXT_MASK_STRIDING_RQ = 1 << 2;
    /** {@code MLX5DV_WQ_INIT_ATTR_MASK_STRIDING_RQ}. */
    static final int WQ_INIT_ATTR_MASK_STRIDING_RQ = 1;

    /** {@code MLX5DV_CONTEXT_FLAGS_ENHANCED_MPW}. */
    static final int CONTEXT_FLAGS_ENHANCED_MPW = 1 << 3;
    /** {@code MLX5DV_QP_INIT_ATTR_MASK_QP_CREATE_FLAGS}. */
    static final int QP_INIT_ATTR_MASK_QP_CREATE_FLAGS = 1;
    /** {@code MLX5DV_QP_CREATE_TIR_ALLOW_SELF_LOOPBACK_UC}. */
    static final int QP_CREATE_TIR_ALLOW_SELF_LOOPBACK_UC = 1 << 1;
    /** {@code MLX5DV_QP_CREATE_TIR_ALLOW_SELF_LOOPBACK_MC}. */
    static final int QP_CREATE_TIR_ALLOW_SELF_LOOPBACK_MC = 1 << 2;

    private static final String SONAME = "libmlx5.so.1";

    private Mlx5dv() {
    }

    /** Returns why the rings of a device cannot be accessed directly, or null if they can. */
    public static String unavailability(VerbsContext context) {
        if (new DeviceName(context.deviceName()).isSoftware()) {
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

    /** Returns whether libmlx5 drives a device. */
    public static boolean isDriverOf(VerbsContext context) {
        return !new DeviceName(context.deviceName()).isSoftware() && Library.LOADED.failure == null
                && Library.LOADED.isSupported(context.nativeDeviceAddress());
    }

    /** Returns the location of a queue pair's rings. */
    public static QueuePairRings rings(QueuePair queuePair) {
        try (Arena arena = Arena.ofConfined()) {
            long out = arena.allocate(Mlx5dvQpLayout.SIZE_BYTES, Long.BYTES).address();
            initObject(arena, OBJ_QP, Mlx5dvObjLayout.QP_IN_OFFSET, queuePair.nativeAddress(), out, "queue pair");
            return QueuePairRings.read(out, queuePair.number());
        }
    }

    /**
     * Returns the location of a completion queue's ring. From now on the queue must not be polled through
     * verbs.
     */
    public static CompletionRing ring(CompletionQueue queue) {
        try (Arena arena = Arena.ofConfined()) {
            long out = arena.allocate(Mlx5dvCqLayout.SIZE_BYTES, Long.BYTES).address();
            initObject(arena, OBJ_CQ, Mlx5dvObjLayout.CQ_IN_OFFSET, queue.nativeAddress(), out, "completion queue");
            return CompletionRing.read(out);
        }
    }

    /** Returns the location of a work queue's ring. */
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

    /**
     * Returns whether a device of libmlx5 can compress receive completions.
     *
     * @param striding whether the completions are those of a striding receive queue
     */
    public static boolean canCompressCompletions(VerbsContext context, boolean striding) {
        if (Library.LOADED.queryDevice == 0 || Library.LOADED.createCq == 0) {
            return false;
        }
        try (Arena arena = Arena.ofConfined()) {
            long attributes = query(arena, context, CONTEXT_MASK_CQE_COMPRESION);
            return NativeMemory.getInt(attributes + Mlx5dvContextLayout.CQE_COMP_CAPS_MAX_NUM_OFFSET) > 0
                    && (NativeMemory.getInt(attributes + Mlx5dvContextLayout.CQE_COMP_CAPS_SUPPORTED_FORMAT_OFFSET)
                    & format(striding)) != 0;
        }
    }

    /**
     * Returns whether a device of libmlx5 supports multi-packet requests. Such devices (ConnectX-5 and later)
     * do not need inlined headers; DPDK assumes the same if it cannot query the firmware.
     */
    public static boolean supportsMultiPacketRequests(VerbsContext context) {
        if (Library.LOADED.queryDevice == 0) {
            return false;
        }
        try (Arena arena = Arena.ofConfined()) {
            return (NativeMemory.getLong(query(arena, context, 0) + Mlx5dvContextLayout.FLAGS_OFFSET)
                    & CONTEXT_FLAGS_ENHANCED_MPW) != 0;
        }
    }

    private static int format(boolean striding) {
        return striding ? CQE_RES_FORMAT_CSUM_STRIDX : CQE_RES_FORMAT_HASH;
    }

    private static long query(Arena arena, VerbsContext context, long compMask) {
        long attributes = arena.allocate(Mlx5dvContextLayout.ROOM_BYTES, Long.BYTES).address();
        NativeMemory.putLong(attributes + Mlx5dvContextLayout.COMP_MASK_OFFSET, compMask);
        VerbsException.check("mlx5dv_query_device", NativeCall.status(Library.LOADED.queryDevice,
                context.nativeAddress(), attributes), context.deviceName());
        return attributes;
    }

    /**
     * Creates a completion queue with compressed receive completions, to be read by an
     * {@link Mlx5CompletionQueue}. libmlx5 cannot poll it. Requires {@link #canCompressCompletions}.
     */
    public static CompletionQueue createCompressedCompletionQueue(VerbsContext context, int minEntries,
            CompletionChannel channelOrNull, int completionVector, boolean striding) {
        try (Arena arena = Arena.ofConfined()) {
            long attributes = arena.allocate(Mlx5dvCqInitAttrLayout.ROOM_BYTES, Long.BYTES).address();
            NativeMemory.putLong(attributes + Mlx5dvCqInitAttrLayout.COMP_MASK_OFFSET,
                    CQ_INIT_ATTR_MASK_COMPRESSED_CQE);
            NativeMemory.putByte(attributes + Mlx5dvCqInitAttrLayout.CQE_COMP_RES_FORMAT_OFFSET,
                    (byte) format(striding));
            return context.createCompletionQueue(new ExtendedCompletionQueueOptions(minEntries, channelOrNull,
                    completionVector, 0, 0), Library.LOADED.createCq, "mlx5dv_create_cq", attributes);
        }
    }

    /**
     * Returns the limits of striding receive queues for raw packets, or null if a device of libmlx5 does not
     * support them.
     */
    public static StridingLimits stridingLimits(VerbsContext context) {
        if (Library.LOADED.queryDevice == 0 || Library.LOADED.createWq == 0) {
            return null;
        }
        try (Arena arena = Arena.ofConfined()) {
            long attributes = query(arena, context, CONTEXT_MASK_STRIDING_RQ);
            long mask = NativeMemory.getLong(attributes + Mlx5dvContextLayout.COMP_MASK_OFFSET);
            int types = NativeMemory.getInt(attributes + Mlx5dvContextLayout.STRIDING_RQ_CAPS_SUPPORTED_QPTS_OFFSET);
            if ((mask & CONTEXT_MASK_STRIDING_RQ) == 0 || (types & ExtendedDeviceAttributes.TYPE_RAW_PACKET_BIT) == 0) {
                return null;
            }
            return new StridingLimits(
                    exp2(attributes + Mlx5dvContextLayout.STRIDING_RQ_CAPS_MIN_SINGLE_STRIDE_LOG_NUM_OF_BYTES_OFFSET),
                    exp2(attributes + Mlx5dvContextLayout.STRIDING_RQ_CAPS_MAX_SINGLE_STRIDE_LOG_NUM_OF_BYTES_OFFSET),
                    exp2(attributes + Mlx5dvContextLayout.STRIDING_RQ_CAPS_MIN_SINGLE_WQE_LOG_NUM_OF_STRIDES_OFFSET),
                    exp2(attributes + Mlx5dvContextLayout.STRIDING_RQ_CAPS_MAX_SINGLE_WQE_LOG_NUM_OF_STRIDES_OFFSET));
        }
    }

    private static int exp2(long logarithmAddress) {
        return 1 << Math.min(NativeMemory.getInt(logarithmAddress), Integer.SIZE - 2);
    }

    /**
     * Creates a striding work queue, to be filled by {@link Mlx5ReceiveQueue#striding}. It cannot be posted to
     * through verbs.
     *
     * @param stridesPerRequest a power of two within {@link #stridingLimits}
     * @param strideBytes       a power of two within {@link #stridingLimits}
     */
    public static WorkQueue createStridingWorkQueue(VerbsContext context, ProtectionDomain domain,
            CompletionQueue completionQueue, int maxRequests, int stridesPerRequest, int strideBytes) {
        try (Arena arena = Arena.ofConfined()) {
            long attributes = arena.allocate(Mlx5dvWqInitAttrLayout.ROOM_BYTES, Long.BYTES).address();
            NativeMemory.putLong(attributes + Mlx5dvWqInitAttrLayout.COMP_MASK_OFFSET, WQ_INIT_ATTR_MASK_STRIDING_RQ);
            NativeMemory.putInt(
                    attributes + Mlx5dvWqInitAttrLayout.STRIDING_RQ_ATTRS_SINGLE_STRIDE_LOG_NUM_OF_BYTES_OFFSET,
                    Integer.numberOfTrailingZeros(strideBytes));
            NativeMemory.putInt(
                    attributes + Mlx5dvWqInitAttrLayout.STRIDING_RQ_ATTRS_SINGLE_WQE_LOG_NUM_OF_STRIDES_OFFSET,
                    Integer.numberOfTrailingZeros(stridesPerRequest));
            return context.createWorkQueue(domain, completionQueue, maxRequests, Library.LOADED.createWq,
                    "mlx5dv_create_wq", attributes);
        }
    }

    /** Creates a queue pair that also receives unicast and multicast frames sent by its own port. */
    static long createSelfLoopback(VerbsContext context, long attributes) {
        if (Library.LOADED.createQp == 0) {
            return -Errno.EOPNOTSUPP;
        }
        try (Arena arena = Arena.ofConfined()) {
            long driver = arena.allocate(Mlx5dvQpInitAttrLayout.ROOM_BYTES, Long.BYTES).address();
            NativeMemory.putLong(driver + Mlx5dvQpInitAttrLayout.COMP_MASK_OFFSET, QP_INIT_ATTR_MASK_QP_CREATE_FLAGS);
            NativeMemory.putInt(driver + Mlx5dvQpInitAttrLayout.CREATE_FLAGS_OFFSET,
                    QP_CREATE_TIR_ALLOW_SELF_LOOPBACK_UC | QP_CREATE_TIR_ALLOW_SELF_LOOPBACK_MC);
            return NativeCall.pointer(Library.LOADED.createQp, context.nativeAddress(), attributes, driver);
        }
    }

    /** The in and out pointers are adjacent for every type of object. */
    private static void initObject(Arena arena, int kind, int inOffset, long in, long out, String what) {
        long object = arena.allocate(Mlx5dvObjLayout.ROOM_BYTES, Long.BYTES).address();
        NativeMemory.putLong(object + inOffset, in);
        NativeMemory.putLong(object + inOffset + Long.BYTES, out);
        VerbsException.check("mlx5dv_init_obj", NativeCall.status(Library.LOADED.initObj, object, kind), what);
    }

    /**
     * libmlx5, or the reason why it is not usable. This is the instance that libibverbs has loaded as its
     * provider.
     */
    private static final class Library {
        static final Library LOADED = load();

        private final long isSupported;
        private final long initObj;
        private final long queryDevice;
        private final long createCq;
        private final long createWq;
        private final long createQp;
        private final String failure;

        private Library(SymbolLookup lookup, String failure) {
            isSupported = address(lookup, "mlx5dv_is_supported");
            initObj = address(lookup, "mlx5dv_init_obj");
            queryDevice = address(lookup, "mlx5dv_query_device");
            createCq = address(lookup, "mlx5dv_create_cq");
            createWq = address(lookup, "mlx5dv_create_wq");
            createQp = address(lookup, "mlx5dv_create_qp");
            this.failure = failure != null || isSupported != 0 && initObj != 0 ? failure
                    : SONAME + " is too old: it does not export mlx5dv_init_obj";
        }

        private static Library load() {
            try {
                return new Library(NativeLibrary.load(SONAME), null);
            } catch (UnsatisfiedLinkError e) {
                return new Library(name -> Optional.empty(), e.getMessage());
            }
        }

        private static long address(SymbolLookup lookup, String function) {
            return lookup.find(function).map(segment -> segment.address()).orElse(0L);
        }

        /** The result is a bool in the low byte. The other bits of the register are undefined. */
        boolean isSupported(long device) {
            return (NativeCall.intValue(isSupported, device, 0, 0) & 0xff) != 0;
        }
    }
}
