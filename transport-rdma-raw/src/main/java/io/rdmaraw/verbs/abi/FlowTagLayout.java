package io.rdmaraw.verbs.abi;

/** {@code struct ibv_flow_spec_action_tag}. */
public final class FlowTagLayout {
    public static final int SIZE_BYTES = 12;
    public static final int TAG_ID_OFFSET = 8;

    private FlowTagLayout() {
    }
}
