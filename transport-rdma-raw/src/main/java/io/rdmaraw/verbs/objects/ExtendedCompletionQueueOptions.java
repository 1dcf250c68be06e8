package io.rdmaraw.verbs.objects;

import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.verbs.abi.VerbsLayouts.CqInitAttrExLayout;

/**
 * The options of an extended completion queue ({@code struct ibv_cq_init_attr_ex}).
 *
 * @param minEntries       minimum capacity in completions
 * @param channelOrNull    the channel that receives events, or null for a queue that is only polled
 * @param completionVector the completion vector, 0 to {@link VerbsContext#completionVectorCount()} - 1
 * @param fields           the completion fields that will be read: an OR of {@link #WITH_BYTE_LEN} and the
 *                         other {@code WITH_} constants
 * @param flags            an OR of {@link #SINGLE_THREADED} and {@link #IGNORE_OVERRUN}, or 0
 */
public record ExtendedCompletionQueueOptions(int minEntries, CompletionChannel channelOrNull, int completionVector,
        long fields, int flags) {
    /** {@code IBV_WC_EX_WITH_BYTE_LEN}. */
    public static final long WITH_BYTE_LEN = 1;
    /** {@code IBV_WC_EX_WITH_QP_NUM}. */
    public static final long WITH_QP_NUM = 1 << 2;
    /** {@code IBV_WC_EX_WITH_SRC_QP}. */
    public static final long WITH_SRC_QP = 1 << 3;
    /** {@code IBV_WC_EX_WITH_COMPLETION_TIMESTAMP}. */
    public static final long WITH_COMPLETION_TIMESTAMP = 1 << 7;
    /** {@code IBV_WC_EX_WITH_CVLAN}. */
    public static final long WITH_CVLAN = 1 << 8;
    /** {@code IBV_WC_EX_WITH_FLOW_TAG}. */
    public static final long WITH_FLOW_TAG = 1 << 9;
    /** {@code IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK}. */
    public static final long WITH_COMPLETION_WALLCLOCK = 1 << 11;
    /** Only one thread polls the queue, so the provider may omit its lock. */
    public static final int SINGLE_THREADED = 1;
    /** The caller guarantees that the queue cannot overrun, so the provider need not check. */
    public static final int IGNORE_OVERRUN = 1 << 1;

    private static final int MASK_FLAGS = 1;

    void writeTo(long attr) {
        NativeMemory.putInt(attr + CqInitAttrExLayout.CQE_OFFSET, minEntries);
        NativeMemory.putLong(attr + CqInitAttrExLayout.CHANNEL_OFFSET,
                channelOrNull == null ? 0 : channelOrNull.nativeAddress());
        NativeMemory.putInt(attr + CqInitAttrExLayout.COMP_VECTOR_OFFSET, completionVector);
        NativeMemory.putLong(attr + CqInitAttrExLayout.WC_FLAGS_OFFSET, fields);
        NativeMemory.putInt(attr + CqInitAttrExLayout.COMP_MASK_OFFSET, flags == 0 ? 0 : MASK_FLAGS);
        NativeMemory.putInt(attr + CqInitAttrExLayout.FLAGS_OFFSET, flags);
    }

    @Override
    public String toString() {
        return minEntries + " entries, completion vector " + completionVector + ", fields 0x" + Long.toHexString(fields)
                + ", flags 0x" + Integer.toHexString(flags);
    }
}
