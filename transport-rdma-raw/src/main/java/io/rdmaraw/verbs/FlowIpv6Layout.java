package io.rdmaraw.verbs;

/** {@code struct ibv_flow_spec_ipv6}. */
final class FlowIpv6Layout {
    static final int SIZE_BYTES = 88;
    static final int VAL_OFFSET = 8;
    static final int MASK_OFFSET = 48;

    // struct ibv_flow_ipv6_filter
    static final int FILTER_SRC_IP_OFFSET = 0;
    static final int FILTER_DST_IP_OFFSET = 16;
    static final int FILTER_FLOW_LABEL_OFFSET = 32;
    static final int FILTER_NEXT_HDR_OFFSET = 36;
    static final int FILTER_TRAFFIC_CLASS_OFFSET = 37;
    static final int FILTER_HOP_LIMIT_OFFSET = 38;

    private FlowIpv6Layout() {
    }
}
