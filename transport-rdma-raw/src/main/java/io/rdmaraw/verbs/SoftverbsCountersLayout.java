package io.rdmaraw.verbs;

/** {@code struct softverbs_counters} of {@code softverbs.h}: what a device counts. */
final class SoftverbsCountersLayout {
    static final int SENT_OFFSET = 0;
    static final int RECEIVED_OFFSET = SENT_OFFSET + SoftverbsQueueCounters.SIZE_BYTES;
    static final int UNQUIET_RULES_OFFSET = RECEIVED_OFFSET + SoftverbsQueueCounters.SIZE_BYTES + 2 * Long.BYTES;
    static final int SIZE_BYTES = UNQUIET_RULES_OFFSET + Long.BYTES;

    private SoftverbsCountersLayout() {
    }
}
