package io.rdmaraw.verbs.objects;

import io.rdmaraw.ffi.NativeCall;
import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.verbs.DeviceName;
import io.rdmaraw.verbs.abi.VerbsLayouts.QpInitAttrExLayout;
import io.rdmaraw.verbs.abi.VerbsLayouts.VerbsContextLayout;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ServiceLoader;

/** Encodes the options of a queue pair as {@code struct ibv_qp_init_attr_ex} and creates the queue pair. */
final class QueuePairAttributes {
    private static final int TYPE_RAW_PACKET = 8;
    private static final int MASK_PD = 1;
    private static final int MASK_CREATE_FLAGS = 1 << 2;
    private static final int MASK_MAX_TSO_HEADER = 1 << 3;
    private static final int MASK_IND_TABLE = 1 << 4;
    private static final int MASK_RX_HASH = 1 << 5;

    private final ProtectionDomain domain;
    private final QueuePairOptions options;
    private final long attr;
    private int mask = MASK_PD;

    QueuePairAttributes(Arena arena, ProtectionDomain domain, QueuePairOptions options) {
        this.domain = domain;
        this.options = options;
        attr = arena.allocate(QpInitAttrExLayout.SIZE_BYTES, Long.BYTES).address();
        NativeMemory.putLong(attr + QpInitAttrExLayout.SEND_CQ_OFFSET, addressOf(options.sendCompletionQueue()));
        NativeMemory.putLong(attr + QpInitAttrExLayout.RECV_CQ_OFFSET, addressOf(options.receiveCompletionQueue()));
        NativeMemory.putInt(attr + QpInitAttrExLayout.CAP_MAX_SEND_WR_OFFSET, options.maxSendWr());
        NativeMemory.putInt(attr + QpInitAttrExLayout.CAP_MAX_RECV_WR_OFFSET, options.maxReceiveWr());
        NativeMemory.putInt(attr + QpInitAttrExLayout.CAP_MAX_SEND_SGE_OFFSET, options.maxSendSge());
        NativeMemory.putInt(attr + QpInitAttrExLayout.CAP_MAX_RECV_SGE_OFFSET, options.maxReceiveSge());
        NativeMemory.putInt(attr + QpInitAttrExLayout.CAP_MAX_INLINE_DATA_OFFSET, options.maxInlineDataBytes());
        NativeMemory.putInt(attr + QpInitAttrExLayout.QP_TYPE_OFFSET, TYPE_RAW_PACKET);
        NativeMemory.putInt(attr + QpInitAttrExLayout.SQ_SIG_ALL_OFFSET, options.signalAll() ? 1 : 0);
        NativeMemory.putLong(attr + QpInitAttrExLayout.PD_OFFSET, domain.nativeAddress());
        if (options.createFlags() != 0) {
            mask |= MASK_CREATE_FLAGS;
            NativeMemory.putInt(attr + QpInitAttrExLayout.CREATE_FLAGS_OFFSET, options.createFlags());
        }
        if (options.maxTsoHeaderBytes() != 0) {
            mask |= MASK_MAX_TSO_HEADER;
            NativeMemory.putShort(attr + QpInitAttrExLayout.MAX_TSO_HEADER_OFFSET, (short) options.maxTsoHeaderBytes());
        }
        if (options.rssOrNull() != null) {
            rss(arena, options.rssOrNull());
        }
        NativeMemory.putInt(attr + QpInitAttrExLayout.COMP_MASK_OFFSET, mask);
    }

    private void rss(Arena arena, RssOptions rss) {
        mask |= MASK_IND_TABLE | MASK_RX_HASH;
        NativeMemory.putLong(attr + QpInitAttrExLayout.RWQ_IND_TBL_OFFSET, rss.table().nativeAddress());
        NativeMemory.putByte(attr + QpInitAttrExLayout.RX_HASH_CONF_RX_HASH_FUNCTION_OFFSET,
                (byte) RssOptions.FUNCTION_TOEPLITZ);
        NativeMemory.putByte(attr + QpInitAttrExLayout.RX_HASH_CONF_RX_HASH_KEY_LEN_OFFSET,
                (byte) RssOptions.KEY_LENGTH_BYTES);
        long key = arena.allocate(RssOptions.KEY_LENGTH_BYTES).copyFrom(
                MemorySegment.ofArray(rss.key())).address();
        NativeMemory.putLong(attr + QpInitAttrExLayout.RX_HASH_CONF_RX_HASH_KEY_OFFSET, key);
        NativeMemory.putLong(attr + QpInitAttrExLayout.RX_HASH_CONF_RX_HASH_FIELDS_MASK_OFFSET, rss.fields());
    }

    /**
     * Creates the queue pair and returns its address. Like the inline function of the C header, this uses the
     * extended call only if the options need it, since old providers lack it.
     */
    long create() {
        VerbsContext context = domain.context;
        String call = mask == MASK_PD ? "ibv_create_qp" : "ibv_create_qp_ex";
        long result;
        if (options.selfLoopback() && !new DeviceName(context.deviceName()).isSoftware()) {
            DriverLibrary driver = libraryOf(context);
            call = driver.createQueuePairCall();
            result = driver.createSelfLoopbackQueuePair(context, attr);
        } else if (mask == MASK_PD) {
            result = NativeCall.pointer(context.library.createQp, domain.nativeAddress(), attr);
        } else {
            long function = context.requiredExtension(VerbsContextLayout.CREATE_QP_EX_OFFSET, call);
            result = NativeCall.pointer(function, context.nativeAddress(), attr);
        }
        return VerbsContext.checkCreated(call, result, "raw packet, " + options.maxSendWr() + " sends of "
                + options.maxSendSge() + " SGEs, " + options.maxReceiveWr() + " receives of " + options.maxReceiveSge()
                + " SGEs, " + options.maxInlineDataBytes() + " bytes inline, flags "
                + "0x" + Integer.toHexString(options.createFlags())
                + (options.rssOrNull() == null ? "" : ", RSS"));
    }

    private static DriverLibrary libraryOf(VerbsContext context) {
        for (DriverLibrary library : ServiceLoader.load(DriverLibrary.class, DriverLibrary.class.getClassLoader())) {
            if (library.drives(context)) {
                return library;
            }
        }
        throw new UnsupportedOperationException(QueuePairOptions.SELF_LOOPBACK_PROPERTY + " is set, but only"
                + " mlx5 devices support it, not " + context.deviceName() + "; use a second device, or soft:loop");
    }

    /** Returns the options with the sizes that the provider wrote back. */
    QueuePairOptions granted() {
        return new QueuePairOptions(options.sendCompletionQueue(), options.receiveCompletionQueue(),
                NativeMemory.getInt(attr + QpInitAttrExLayout.CAP_MAX_SEND_WR_OFFSET),
                options.rssOrNull() != null ? 0 : NativeMemory.getInt(attr + QpInitAttrExLayout.CAP_MAX_RECV_WR_OFFSET),
                NativeMemory.getInt(attr + QpInitAttrExLayout.CAP_MAX_SEND_SGE_OFFSET),
                NativeMemory.getInt(attr + QpInitAttrExLayout.CAP_MAX_RECV_SGE_OFFSET),
                NativeMemory.getInt(attr + QpInitAttrExLayout.CAP_MAX_INLINE_DATA_OFFSET),
                options.maxTsoHeaderBytes(), options.signalAll(), options.createFlags(), options.selfLoopback(),
                options.rssOrNull());
    }

    private static long addressOf(VerbsObject objectOrNull) {
        return objectOrNull == null ? 0 : objectOrNull.nativeAddress();
    }
}
