package io.rdmaraw.verbs.abi;

/** {@code struct ibv_flow_spec_ipv4_ext}; {@code struct ibv_flow_spec_ipv4} has only the addresses. */
public final class FlowIpv4Layout {
    public static final int SIZE_BYTES = 32;
    public static final int VAL_OFFSET = 8;
    public static final int MASK_OFFSET = 20;

    /** {@code sizeof(struct ibv_flow_spec_ipv4)}. */
    public static final int PLAIN_SIZE_BYTES = 24;
    /** {@code offsetof(struct ibv_flow_spec_ipv4, mask)}; its val is where that of the longer one is. */
    public static final int PLAIN_MASK_OFFSET = 16;
    // struct ibv_flow_ipv4_ext_filter
    public static final int FILTER_SRC_IP_OFFSET = 0;
    public static final int FILTER_DST_IP_OFFSET = 4;
    public static final int FILTER_PROTO_OFFSET = 8;
    public static final int FILTER_TOS_OFFSET = 9;
    public static final int FILTER_TTL_OFFSET = 10;
    public static final int FILTER_FLAGS_OFFSET = 11;

    private FlowIpv4Layout() {
    }
}
