package io.rdmaraw.verbs.abi;

import io.rdmaraw.ffi.PthreadTypes;

/** {@code struct ibv_context}, with the members of its {@code ops} that the header's inline functions call. */
public final class ContextLayout {
    public static final int DEVICE_OFFSET = 0;
    public static final int OPS_POLL_CQ_OFFSET = 96;
    public static final int OPS_REQ_NOTIFY_CQ_OFFSET = 104;
    public static final int OPS_POST_SEND_OFFSET = 208;
    public static final int OPS_POST_RECV_OFFSET = 216;
    public static final int ASYNC_FD_OFFSET = 268;
    public static final int NUM_COMP_VECTORS_OFFSET = 272;
    /** Behind a mutex, so the processor decides. */
    public static final int ABI_COMPAT_OFFSET = 280 + PthreadTypes.MUTEX_BYTES;
    public static final int SIZE_BYTES = ABI_COMPAT_OFFSET + Long.BYTES;

    private ContextLayout() {
    }
}
