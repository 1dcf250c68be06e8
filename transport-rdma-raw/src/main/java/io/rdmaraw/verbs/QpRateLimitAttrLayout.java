package io.rdmaraw.verbs;

/** {@code struct ibv_qp_rate_limit_attr}. */
final class QpRateLimitAttrLayout {
    static final int SIZE_BYTES = 16;
    static final int RATE_LIMIT_OFFSET = 0;
    static final int MAX_BURST_SZ_OFFSET = 4;
    static final int TYPICAL_PKT_SZ_OFFSET = 8;
    static final int COMP_MASK_OFFSET = 12;

    private QpRateLimitAttrLayout() {
    }
}
