package io.rdmaraw.verbs.abi;

/** {@code struct ibv_flow_spec_eth}. The common head of all specs, type and size, is at 0 and 4. */
public final class FlowEthLayout {
    public static final int SIZE_BYTES = 40;
    public static final int TYPE_OFFSET = 0;
    public static final int SIZE_OFFSET = 4;
    public static final int VAL_OFFSET = 6;
    public static final int MASK_OFFSET = 22;

    // struct ibv_flow_eth_filter
    public static final int FILTER_DST_MAC_OFFSET = 0;
    public static final int FILTER_SRC_MAC_OFFSET = 6;
    public static final int FILTER_ETHER_TYPE_OFFSET = 12;
    public static final int FILTER_VLAN_TAG_OFFSET = 14;

    private FlowEthLayout() {
    }
}
