package io.rdmaraw.verbs.softverbs;

/** The structures of {@code softverbs.h}: sizes and offsets in bytes. */
public final class SoftverbsLayouts {
    private SoftverbsLayouts() {
    }

    /** {@code struct softverbs_interface} of {@code softverbs.h}: properties of a network interface. */
    public static final class SoftverbsInterfaceLayout {
        static final int DRIVER_OFFSET = 0;
        static final int XDP_FEATURES_OFFSET = 32;
        static final int XDP_RX_METADATA_OFFSET = 40;
        static final int XSK_FEATURES_OFFSET = 48;
        static final int ZERO_COPY_SEGMENTS_OFFSET = 56;
        static final int RECEIVE_QUEUES_OFFSET = 60;
        static final int QUEUES_WITH_NAPI_OFFSET = 64;
        static final int NAPI_LEFT_DEFERRING_OFFSET = 68;
        static final int FEATURES_REPORTED_OFFSET = 72;
        static final int NAPI_FROM_FIRST_FRAME_OFFSET = 76;
        static final int SIZE_BYTES = 80;
    }

    /** {@code struct softverbs_counters} of {@code softverbs.h}: counters of a device. */
    public static final class SoftverbsCountersLayout {
        static final int SENT_OFFSET = 0;
        static final int RECEIVED_OFFSET = SENT_OFFSET + SoftverbsQueueCounters.SIZE_BYTES;
        static final int KERNEL_VISIBLE_RULES_OFFSET =
                RECEIVED_OFFSET + SoftverbsQueueCounters.SIZE_BYTES + 2 * Long.BYTES;
        static final int SIZE_BYTES = KERNEL_VISIBLE_RULES_OFFSET + Long.BYTES;
    }

    /** {@code struct softverbs_program} of {@code softverbs.h}: an eBPF program on an interface. */
    public static final class SoftverbsProgramLayout {
        static final int ID_OFFSET = 0;
        static final int ATTACH_POINT_OFFSET = 4;
        static final int NAME_OFFSET = 8;
        static final int SIZE_BYTES = 24;
    }
}
