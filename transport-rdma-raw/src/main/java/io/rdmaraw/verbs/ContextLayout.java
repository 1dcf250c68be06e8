package io.rdmaraw.verbs;

/** {@code struct ibv_context}, with the members of its {@code ops} that the header's inline functions call. */
final class ContextLayout {
    static final int SIZE_BYTES = 328;
    static final int DEVICE_OFFSET = 0;
    static final int OPS_POLL_CQ_OFFSET = 96;
    static final int OPS_REQ_NOTIFY_CQ_OFFSET = 104;
    static final int OPS_POST_SEND_OFFSET = 208;
    static final int OPS_POST_RECV_OFFSET = 216;
    static final int CMD_FD_OFFSET = 264;
    static final int ASYNC_FD_OFFSET = 268;
    static final int NUM_COMP_VECTORS_OFFSET = 272;
    static final int ABI_COMPAT_OFFSET = 320;

    private ContextLayout() {
    }
}
