package io.rdmaraw.verbs.abi;

/** {@code struct ibv_flow_spec_ipv6}. */
public final class FlowIpv6Layout {
    public static final int SIZE_BYTES = 88;
    public static final int VAL_OFFSET = 8;
    public static final int MASK_OFFSET = 48;

    // struct ibv_flow_ipv6_filter
    public static final int FILTER_SRC_IP_OFFSET = 0;
    public static final int FILTER_DST_IP_OFFSET = 16;
    public static final int FILTER_FLOW_LABEL_OFFSET = 32;
    public static final int FILTER_NEXT_HDR_OFFSET = 36;
    public static final int FILTER_TRAFFIC_CLASS_OFFSET = 37;
    public static final int FILTER_HOP_LIMIT_OFFSET = 38;

    private FlowIpv6Layout() {
    }
}
