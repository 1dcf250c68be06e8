package io.rdmaraw.verbs.softverbs;

/** {@code struct softverbs_counters} of {@code softverbs.h}: what a device counts. */
public final class SoftverbsCountersLayout {
    static final int SENT_OFFSET = 0;
    static final int RECEIVED_OFFSET = SENT_OFFSET + SoftverbsQueueCounters.SIZE_BYTES;
    static final int KERNEL_VISIBLE_RULES_OFFSET = RECEIVED_OFFSET + SoftverbsQueueCounters.SIZE_BYTES + 2 * Long.BYTES;
    static final int SIZE_BYTES = KERNEL_VISIBLE_RULES_OFFSET + Long.BYTES;

    private SoftverbsCountersLayout() {
    }
}
