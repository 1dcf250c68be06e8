package io.rdmaraw.verbs;

/** {@code enum ibv_qp_state}, in its order. */
public enum QueuePairState {
    RESET, INIT, RTR, RTS, SQD, SQE, ERR, UNKNOWN;

    private static final QueuePairState[] VALUES = values();

    static QueuePairState of(int value) {
        return value >= 0 && value < VALUES.length ? VALUES[value] : UNKNOWN;
    }
}
