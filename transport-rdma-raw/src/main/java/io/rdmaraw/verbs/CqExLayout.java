package io.rdmaraw.verbs;

/** {@code struct ibv_cq_ex}: the completion that is being read, and the functions that read it. */
final class CqExLayout {
    static final int SIZE_BYTES = 288;
    static final int STATUS_OFFSET = 132;
    static final int WR_ID_OFFSET = 136;
    static final int START_POLL_OFFSET = 144;
    static final int NEXT_POLL_OFFSET = 152;
    static final int END_POLL_OFFSET = 160;
    static final int READ_OPCODE_OFFSET = 168;
    static final int READ_VENDOR_ERR_OFFSET = 176;
    static final int READ_BYTE_LEN_OFFSET = 184;
    static final int READ_QP_NUM_OFFSET = 200;
    static final int READ_WC_FLAGS_OFFSET = 216;
    static final int READ_COMPLETION_TS_OFFSET = 248;
    static final int READ_CVLAN_OFFSET = 256;
    static final int READ_FLOW_TAG_OFFSET = 264;
    static final int READ_COMPLETION_WALLCLOCK_NS_OFFSET = 280;

    private CqExLayout() {
    }
}
