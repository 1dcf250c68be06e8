package io.rdmaraw.verbs.abi;

/** {@code struct ibv_qp_attr}. */
public final class QpAttrLayout {
    public static final int SIZE_BYTES = 144;
    public static final int QP_STATE_OFFSET = 0;
    static final int CAP_MAX_SEND_WR_OFFSET = 36;
    public static final int PORT_NUM_OFFSET = 129;

    private QpAttrLayout() {
    }
}
