package io.rdmaraw.verbs.abi;

/** {@code struct ibv_qp_rate_limit_attr}. */
public final class QpRateLimitAttrLayout {
    public static final int SIZE_BYTES = 16;
    public static final int RATE_LIMIT_OFFSET = 0;

    private QpRateLimitAttrLayout() {
    }
}
