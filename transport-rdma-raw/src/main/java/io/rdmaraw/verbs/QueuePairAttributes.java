package io.rdmaraw.verbs;

import io.rdmaraw.ffi.NativeCall;
import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.verbs.abi.QpInitAttrExLayout;
import io.rdmaraw.verbs.abi.VerbsContextLayout;
import io.rdmaraw.verbs.flow.FlowNumbers;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/** {@code struct ibv_qp_init_attr_ex}, filled in from the options, and the call that takes it. */
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
        NativeMemory.putLong(attr + QpInitAttrExLayout.PD_OFFSET, domain.openAddress());
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
        NativeMemory.putLong(attr + QpInitAttrExLayout.RWQ_IND_TBL_OFFSET, rss.table().openAddress());
        NativeMemory.putByte(attr + QpInitAttrExLayout.RX_HASH_CONF_RX_HASH_FUNCTION_OFFSET,
                (byte) RssOptions.FUNCTION_TOEPLITZ);
        NativeMemory.putByte(attr + QpInitAttrExLayout.RX_HASH_CONF_RX_HASH_KEY_LEN_OFFSET,
                (byte) RssOptions.KEY_LENGTH_BYTES);
        long key = arena.allocate(RssOptions.KEY_LENGTH_BYTES).copyFrom(
                MemorySegment.ofArray(rss.key())).address();
        NativeMemory.putLong(attr + QpInitAttrExLayout.RX_HASH_CONF_RX_HASH_KEY_OFFSET, key);
        NativeMemory.putLong(attr + QpInitAttrExLayout.RX_HASH_CONF_RX_HASH_FIELDS_MASK_OFFSET, rss.fields());
    }

    /** As the header's inline function does: the extended call only for what the plain call cannot express. */
    long create() {
        VerbsContext context = domain.context;
        String call = mask == MASK_PD ? "ibv_create_qp" : "ibv_create_qp_ex";
        long result;
        if (options.selfLoopback() && !new DeviceName(context.deviceName()).isSoftware()) {
            DriverLibrary driver = libraryOf(context);
            call = driver.createQueuePairCall();
            result = driver.createSelfLoopingQueuePair(context, attr);
        } else if (mask == MASK_PD) {
            result = NativeCall.pointer(context.library.createQp, domain.openAddress(), attr);
        } else {
            long function = context.requiredExtension(VerbsContextLayout.CREATE_QP_EX_OFFSET, call);
            result = NativeCall.pointer(function, context.openAddress(), attr);
        }
        return VerbsContext.made(call, result, "raw packet, " + options.maxSendWr() + " sends of "
                + options.maxSendSge() + " SGEs, " + options.maxReceiveWr() + " receives of " + options.maxReceiveSge()
                + " SGEs, " + options.maxInlineDataBytes() + " bytes inline, flags "
                + FlowNumbers.hex(options.createFlags())
                + (options.rssOrNull() == null ? "" : ", RSS"));
    }

    private static DriverLibrary libraryOf(VerbsContext context) {
        DriverLibrary driver = DriverLibraries.of(context);
        if (driver == null) {
            throw new UnsupportedOperationException(QueuePairOptions.SELF_LOOPBACK_PROPERTY + " is set, but how "
                    + context.deviceName() + " can receive its own frames is not known, as it is of mlx5 devices; use"
                    + " a second device, or soft:loop");
        }
        return driver;
    }

    /** Returns the options with the sizes that the call wrote back. */
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
        return objectOrNull == null ? 0 : objectOrNull.openAddress();
    }
}
