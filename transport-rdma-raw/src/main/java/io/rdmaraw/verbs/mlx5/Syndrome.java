package io.rdmaraw.verbs.mlx5;

import io.rdmaraw.verbs.abi.WcStatus;

/**
 * Error codes of failed requests ({@code MLX5_CQE_SYNDROME_*}), with the conversion to {@link WcStatus} that
 * libmlx5 uses.
 */
final class Syndrome {
    static final int LOCAL_LENGTH_ERR = 0x01;
    static final int LOCAL_QP_OP_ERR = 0x02;
    static final int LOCAL_PROT_ERR = 0x04;
    static final int WR_FLUSH_ERR = 0x05;
    static final int MW_BIND_ERR = 0x06;
    static final int BAD_RESP_ERR = 0x10;
    static final int LOCAL_ACCESS_ERR = 0x11;
    static final int REMOTE_INVAL_REQ_ERR = 0x12;
    static final int REMOTE_ACCESS_ERR = 0x13;
    static final int REMOTE_OP_ERR = 0x14;
    static final int TRANSPORT_RETRY_EXC_ERR = 0x15;
    static final int RNR_RETRY_EXC_ERR = 0x16;
    static final int REMOTE_ABORTED_ERR = 0x22;

    private Syndrome() {
    }

    static int toStatus(int syndrome) {
        return switch (syndrome) {
            case LOCAL_LENGTH_ERR -> WcStatus.LOC_LEN_ERR;
            case LOCAL_QP_OP_ERR -> WcStatus.LOC_QP_OP_ERR;
            case LOCAL_PROT_ERR -> WcStatus.LOC_PROT_ERR;
            case WR_FLUSH_ERR -> WcStatus.WR_FLUSH_ERR;
            case MW_BIND_ERR -> WcStatus.MW_BIND_ERR;
            case BAD_RESP_ERR -> WcStatus.BAD_RESP_ERR;
            case LOCAL_ACCESS_ERR -> WcStatus.LOC_ACCESS_ERR;
            case REMOTE_INVAL_REQ_ERR -> WcStatus.REM_INV_REQ_ERR;
            case REMOTE_ACCESS_ERR -> WcStatus.REM_ACCESS_ERR;
            case REMOTE_OP_ERR -> WcStatus.REM_OP_ERR;
            case TRANSPORT_RETRY_EXC_ERR -> WcStatus.RETRY_EXC_ERR;
            case RNR_RETRY_EXC_ERR -> WcStatus.RNR_RETRY_EXC_ERR;
            case REMOTE_ABORTED_ERR -> WcStatus.REM_ABORT_ERR;
            default -> WcStatus.GENERAL_ERR;
        };
    }
}
