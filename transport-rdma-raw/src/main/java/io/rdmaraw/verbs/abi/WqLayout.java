package io.rdmaraw.verbs.abi;

import io.rdmaraw.ffi.PthreadTypes;

/** {@code struct ibv_wq}. */
public final class WqLayout {
    public static final int WQ_CONTEXT_OFFSET = 8;
    public static final int WQ_NUM_OFFSET = 32;
    public static final int STATE_OFFSET = 40;
    public static final int POST_RECV_OFFSET = 48;
    public static final int MUTEX_OFFSET = 56;
    public static final int COND_OFFSET = MUTEX_OFFSET + PthreadTypes.MUTEX_BYTES;
    public static final int EVENTS_COMPLETED_OFFSET = COND_OFFSET + PthreadTypes.COND_BYTES;

    private WqLayout() {
    }
}
