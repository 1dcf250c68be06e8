package io.rdmaraw.verbs;

/** {@code struct ibv_qp}. */
final class QpLayout {
    static final int SIZE_BYTES = 160;
    static final int QP_NUM_OFFSET = 52;
    static final int STATE_OFFSET = 56;

    private QpLayout() {
    }
}
