package io.rdmaraw.verbs;

/** {@code struct ibv_flow_spec_action_drop}. */
final class FlowDropLayout {
    static final int SIZE_BYTES = 8;
    static final int SIZE_OFFSET = 4;

    private FlowDropLayout() {
    }
}
