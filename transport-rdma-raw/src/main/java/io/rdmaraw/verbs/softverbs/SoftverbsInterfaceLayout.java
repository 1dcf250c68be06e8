package io.rdmaraw.verbs.softverbs;

/** {@code struct softverbs_interface} of {@code softverbs.h}: what a kernel tells of an interface. */
public final class SoftverbsInterfaceLayout {
    static final int DRIVER_OFFSET = 0;
    static final int XDP_FEATURES_OFFSET = 32;
    static final int XDP_RX_METADATA_OFFSET = 40;
    static final int XSK_FEATURES_OFFSET = 48;
    static final int ZERO_COPY_SEGMENTS_OFFSET = 56;
    static final int RECEIVE_QUEUES_OFFSET = 60;
    static final int QUEUES_WITH_NAPI_OFFSET = 64;
    static final int LEFT_DEFERRING_OFFSET = 68;
    static final int TOLD_OFFSET = 72;
    static final int NAPI_BY_FRAME_OFFSET = 76;
    static final int SIZE_BYTES = 80;

    private SoftverbsInterfaceLayout() {
    }
}
