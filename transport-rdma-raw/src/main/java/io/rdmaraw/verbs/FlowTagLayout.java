package io.rdmaraw.verbs;

/** {@code struct ibv_flow_spec_action_tag}. */
final class FlowTagLayout {
    static final int SIZE_BYTES = 12;
    static final int TAG_ID_OFFSET = 8;

    private FlowTagLayout() {
    }
}
