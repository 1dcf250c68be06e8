package io.rdmaraw.verbs.flow;

/** Constants of {@code enum ibv_flow_spec_type}. */
final class FlowSpecType {
    static final int ETH = 0x20;
    static final int IPV4 = 0x30;
    static final int IPV6 = 0x31;
    static final int IPV4_EXT = 0x32;
    static final int TCP = 0x40;
    static final int UDP = 0x41;
    static final int VXLAN_TUNNEL = 0x50;
    static final int INNER = 0x100;
    static final int ACTION_TAG = 0x1000;
    static final int ACTION_DROP = 0x1001;

    private FlowSpecType() {
    }
}
