package io.rdmaraw.verbs.objects;

/**
 * The states of a queue pair, in the order of {@code enum ibv_qp_state}.
 * <ul>
 * <li>RESET: initial state, without outstanding requests
 * <li>INIT: receive requests can be posted
 * <li>RTR: ready to receive
 * <li>RTS: ready to receive and to send
 * <li>SQD: the send queue is being drained
 * <li>SQE: the send queue has failed
 * <li>ERR: the queue pair has failed; outstanding requests are flushed
 * <li>UNKNOWN: a value that this version does not know
 * </ul>
 */
public enum QueuePairState {
    RESET, INIT, RTR, RTS, SQD, SQE, ERR, UNKNOWN;

    private static final QueuePairState[] VALUES = values();

    static QueuePairState of(int value) {
        return value >= 0 && value < VALUES.length ? VALUES[value] : UNKNOWN;
    }
}
