package io.rdmaraw.verbs;

/** {@code struct ibv_flow_spec_tcp_udp}. */
final class FlowTcpUdpLayout {
    static final int SIZE_BYTES = 16;
    static final int VAL_OFFSET = 6;
    static final int MASK_OFFSET = 10;

    // struct ibv_flow_tcp_udp_filter
    static final int FILTER_DST_PORT_OFFSET = 0;
    static final int FILTER_SRC_PORT_OFFSET = 2;

    private FlowTcpUdpLayout() {
    }
}
