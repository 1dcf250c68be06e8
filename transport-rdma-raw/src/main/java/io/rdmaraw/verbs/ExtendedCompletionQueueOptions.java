package io.rdmaraw.verbs;

import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.verbs.abi.CqInitAttrExLayout;

/**
 * What an extended completion queue is created with ({@code struct ibv_cq_init_attr_ex}).
 *
 * @param minEntries       how many completions it must hold
 * @param channelOrNull    where to send notifications, or null to poll only
 * @param completionVector which completion vector interrupts
 * @param fields           the fields that will be read, from {@link #WITH_BYTE_LEN} and so on
 * @param flags            {@link #SINGLE_THREADED}, {@link #IGNORE_OVERRUN}, or 0
 */
public record ExtendedCompletionQueueOptions(int minEntries, CompletionChannel channelOrNull, int completionVector,
        long fields, int flags) {
    public static final long WITH_BYTE_LEN = 1;
    public static final long WITH_QP_NUM = 1 << 2;
    public static final long WITH_SRC_QP = 1 << 3;
    public static final long WITH_COMPLETION_TIMESTAMP = 1 << 7;
    public static final long WITH_CVLAN = 1 << 8;
    public static final long WITH_FLOW_TAG = 1 << 9;
    public static final long WITH_COMPLETION_WALLCLOCK = 1 << 11;
    /** One thread only will poll: the provider may leave out its lock. */
    public static final int SINGLE_THREADED = 1;
    /** The caller makes sure that the queue never overruns: the provider need not check. */
    public static final int IGNORE_OVERRUN = 1 << 1;

    private static final int MASK_FLAGS = 1;

    void writeTo(long attr) {
        NativeMemory.putInt(attr + CqInitAttrExLayout.CQE_OFFSET, minEntries);
        NativeMemory.putLong(attr + CqInitAttrExLayout.CHANNEL_OFFSET,
                channelOrNull == null ? 0 : channelOrNull.openAddress());
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
