package io.rdmaraw.verbs.abi;

/** {@code struct ibv_qp}. */
public final class QpLayout {
    static final int SIZE_BYTES = 160;
    public static final int QP_NUM_OFFSET = 52;
    static final int STATE_OFFSET = 56;

    private QpLayout() {
    }
}
