package io.rdmaraw.verbs;

/** {@code struct ibv_flow_attr}; the specs follow at once. */
final class FlowAttrLayout {
    static final int SIZE_BYTES = 20;
    static final int COMP_MASK_OFFSET = 0;
    static final int TYPE_OFFSET = 4;
    static final int SIZE_OFFSET = 8;
    static final int PRIORITY_OFFSET = 10;
    static final int NUM_OF_SPECS_OFFSET = 12;
    static final int PORT_OFFSET = 13;
    static final int FLAGS_OFFSET = 16;

    private FlowAttrLayout() {
    }
}
