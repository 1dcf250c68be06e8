package io.rdmaraw.verbs.abi;

/** {@code struct ibv_cq}, with which {@code struct ibv_cq_ex} begins, and {@code struct ibv_comp_channel}. */
public final class CqLayout {
    public static final int CQE_OFFSET = 28;

    /** {@code ibv_comp_channel.fd}. */
    public static final int COMP_CHANNEL_FD_OFFSET = 8;

    private CqLayout() {
    }
}
