package io.rdmaraw.verbs;

/** {@code struct ibv_flow_spec_tunnel}. */
final class FlowTunnelLayout {
    static final int SIZE_BYTES = 16;
    static final int VAL_TUNNEL_ID_OFFSET = 8;
    static final int MASK_TUNNEL_ID_OFFSET = 12;

    private FlowTunnelLayout() {
    }
}
