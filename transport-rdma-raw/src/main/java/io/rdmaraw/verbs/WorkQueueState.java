package io.rdmaraw.verbs;

/** {@code enum ibv_wq_state}, in its order. */
public enum WorkQueueState {
    RESET, RDY, ERR, UNKNOWN;

    private static final WorkQueueState[] VALUES = values();

    static WorkQueueState of(int value) {
        return value >= 0 && value < VALUES.length ? VALUES[value] : UNKNOWN;
    }
}
