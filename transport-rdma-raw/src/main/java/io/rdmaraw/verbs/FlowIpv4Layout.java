package io.rdmaraw.verbs;

/** {@code struct ibv_flow_spec_ipv4_ext}; {@code struct ibv_flow_spec_ipv4} has only the addresses. */
final class FlowIpv4Layout {
    static final int SIZE_BYTES = 32;
    static final int VAL_OFFSET = 8;
    static final int MASK_OFFSET = 20;

    /** {@code sizeof(struct ibv_flow_spec_ipv4)}. */
    static final int PLAIN_SIZE_BYTES = 24;
    /** {@code offsetof(struct ibv_flow_spec_ipv4, mask)}; its val is where that of the longer one is. */
    static final int PLAIN_MASK_OFFSET = 16;
    // struct ibv_flow_ipv4_ext_filter
    static final int FILTER_SRC_IP_OFFSET = 0;
    static final int FILTER_DST_IP_OFFSET = 4;
    static final int FILTER_PROTO_OFFSET = 8;
    static final int FILTER_TOS_OFFSET = 9;
    static final int FILTER_TTL_OFFSET = 10;
    static final int FILTER_FLAGS_OFFSET = 11;

    private FlowIpv4Layout() {
    }
}
