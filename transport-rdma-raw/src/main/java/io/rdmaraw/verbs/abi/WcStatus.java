package io.rdmaraw.verbs.abi;

/**
 * The values of {@code enum ibv_wc_status}. Plain numbers, since the status of every completion is compared
 * with {@link #SUCCESS}.
 */
public final class WcStatus {
    /** The request succeeded. */
    public static final int SUCCESS = 0;
    /** A frame was longer than the receive buffers, or a send longer than the port allows. */
    public static final int LOC_LEN_ERR = 1;
    /** The request was invalid. */
    public static final int LOC_QP_OP_ERR = 2;
    /** An SGE is outside the memory region of its lkey, or the lkey is invalid. */
    public static final int LOC_PROT_ERR = 4;
    /** The queue went to ERR while the request was outstanding. */
    public static final int WR_FLUSH_ERR = 5;
    /** Binding a memory window failed. */
    public static final int MW_BIND_ERR = 6;
    /** The peer's response was invalid. */
    public static final int BAD_RESP_ERR = 7;
    /** The memory region does not permit the access. */
    public static final int LOC_ACCESS_ERR = 8;
    /** The peer considered the request invalid. */
    public static final int REM_INV_REQ_ERR = 9;
    /** The peer's memory does not permit the access. */
    public static final int REM_ACCESS_ERR = 10;
    /** The peer could not execute the request. */
    public static final int REM_OP_ERR = 11;
    /** The peer did not respond. */
    public static final int RETRY_EXC_ERR = 12;
    /** The peer had no receive posted. */
    public static final int RNR_RETRY_EXC_ERR = 13;
    /** The peer aborted the request. */
    public static final int REM_ABORT_ERR = 16;
    /** The device failed. */
    public static final int FATAL_ERR = 19;
    /** The transport failed. */
    public static final int GENERAL_ERR = 21;

    /** Names of all statuses, indexed by value. */
    public static final String[] NAMES = {
        "SUCCESS", "LOC_LEN_ERR", "LOC_QP_OP_ERR", "LOC_EEC_OP_ERR", "LOC_PROT_ERR", "WR_FLUSH_ERR",
        "MW_BIND_ERR", "BAD_RESP_ERR", "LOC_ACCESS_ERR", "REM_INV_REQ_ERR", "REM_ACCESS_ERR", "REM_OP_ERR",
        "RETRY_EXC_ERR", "RNR_RETRY_EXC_ERR", "LOC_RDD_VIOL_ERR", "REM_INV_RD_REQ_ERR", "REM_ABORT_ERR",
        "INV_EECN_ERR", "INV_EEC_STATE_ERR", "FATAL_ERR", "RESP_TIMEOUT_ERR", "GENERAL_ERR", "TM_ERR",
        "TM_RNDV_INCOMPLETE"
    };

    private WcStatus() {
    }

    /** Returns the name of a status for messages. */
    public static String name(int status) {
        return status >= 0 && status < NAMES.length ? NAMES[status] : "status " + status;
    }
}
