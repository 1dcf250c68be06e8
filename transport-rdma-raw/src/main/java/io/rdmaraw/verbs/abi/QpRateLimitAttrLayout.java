package io.rdmaraw.verbs.abi;

/** {@code struct ibv_qp_rate_limit_attr}. */
public final class QpRateLimitAttrLayout {
    public static final int SIZE_BYTES = 16;
    public static final int RATE_LIMIT_OFFSET = 0;
    static final int MAX_BURST_SZ_OFFSET = 4;
    static final int TYPICAL_PKT_SZ_OFFSET = 8;
    static final int COMP_MASK_OFFSET = 12;

    private QpRateLimitAttrLayout() {
    }
}
