package io.rdmaraw.verbs;

/** {@code struct ibv_flow_spec_counter_action}. */
final class FlowCountLayout {
    static final int SIZE_BYTES = 16;
    static final int COUNTERS_OFFSET = 8;

    private FlowCountLayout() {
    }
}
