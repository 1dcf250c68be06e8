package io.rdmaraw.verbs.objects;

/**
 * The states of a work queue, in the order of {@code enum ibv_wq_state}.
 * <ul>
 * <li>RESET: initial state, without outstanding requests
 * <li>RDY: receives can be posted, and frames arrive
 * <li>ERR: the queue has failed; outstanding receives are flushed
 * <li>UNKNOWN: a value that this version does not know
 * </ul>
 */
public enum WorkQueueState {
    RESET, RDY, ERR, UNKNOWN;

    private static final WorkQueueState[] VALUES = values();

    static WorkQueueState of(int value) {
        return value >= 0 && value < VALUES.length ? VALUES[value] : UNKNOWN;
    }
}
