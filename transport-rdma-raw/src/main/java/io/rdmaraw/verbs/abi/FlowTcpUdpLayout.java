package io.rdmaraw.verbs.abi;

/** {@code struct ibv_flow_spec_tcp_udp}. */
public final class FlowTcpUdpLayout {
    public static final int SIZE_BYTES = 16;
    public static final int VAL_OFFSET = 6;
    public static final int MASK_OFFSET = 10;

    // struct ibv_flow_tcp_udp_filter
    public static final int FILTER_DST_PORT_OFFSET = 0;
    public static final int FILTER_SRC_PORT_OFFSET = 2;

    private FlowTcpUdpLayout() {
    }
}
