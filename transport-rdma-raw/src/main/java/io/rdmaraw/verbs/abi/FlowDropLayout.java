package io.rdmaraw.verbs.abi;

/** {@code struct ibv_flow_spec_action_drop}. */
public final class FlowDropLayout {
    public static final int SIZE_BYTES = 8;

    private FlowDropLayout() {
    }
}
