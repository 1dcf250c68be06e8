package io.rdmaraw.verbs.abi;

/** {@code struct ibv_flow_attr}; the specs follow at once. */
public final class FlowAttrLayout {
    public static final int SIZE_BYTES = 20;
    public static final int TYPE_OFFSET = 4;
    public static final int SIZE_OFFSET = 8;
    public static final int PRIORITY_OFFSET = 10;
    public static final int NUM_OF_SPECS_OFFSET = 12;
    public static final int PORT_OFFSET = 13;
    public static final int FLAGS_OFFSET = 16;

    private FlowAttrLayout() {
    }
}
