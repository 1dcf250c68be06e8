package io.rdmaraw.verbs.abi;

/** {@code struct ibv_flow_spec_tunnel}. */
public final class FlowTunnelLayout {
    public static final int SIZE_BYTES = 16;
    public static final int VAL_TUNNEL_ID_OFFSET = 8;
    public static final int MASK_TUNNEL_ID_OFFSET = 12;

    private FlowTunnelLayout() {
    }
}
