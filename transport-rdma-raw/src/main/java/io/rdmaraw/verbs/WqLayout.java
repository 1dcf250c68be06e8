package io.rdmaraw.verbs;

/** {@code struct ibv_wq}. */
final class WqLayout {
    static final int SIZE_BYTES = 152;
    static final int WQ_CONTEXT_OFFSET = 8;
    static final int WQ_NUM_OFFSET = 32;
    static final int STATE_OFFSET = 40;
    static final int POST_RECV_OFFSET = 48;
    static final int MUTEX_OFFSET = 56;
    static final int COND_OFFSET = 96;
    static final int EVENTS_COMPLETED_OFFSET = 144;

    private WqLayout() {
    }
}
