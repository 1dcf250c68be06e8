package io.rdmaraw.faults;

/** {@code enum softverbs_call} in its order: calls that {@link SoftverbsFaults#failNextCall} can fail. */
public enum SoftverbsCall {
    OPEN_DEVICE, QUERY_DEVICE, QUERY_PORT, ALLOC_PD, REG_MR, CREATE_COMP_CHANNEL, CREATE_CQ, RESIZE_CQ, REQ_NOTIFY_CQ,
    CREATE_QP, MODIFY_QP, QUERY_QP, DESTROY_QP, CREATE_WQ, MODIFY_WQ, CREATE_IND_TABLE, CREATE_FLOW, DESTROY_FLOW
}
