package io.rdmaraw.verbs.abi;

/** {@code struct ibv_qp}. */
public final class QpLayout {
    public static final int QP_NUM_OFFSET = 52;

    private QpLayout() {
    }
}
