package io.rdmaraw.verbs;

/** {@code struct verbs_context}, which lies around an extended {@code ibv_context}. It grows at its start, so an offset
 * counts from the start only in the version of the header used here; {@link VerbsContext} turns it into a distance from
 * the embedded context, which no version changes. */
final class VerbsContextLayout {
    static final int SIZE_BYTES = 648;
    static final int QUERY_PORT_OFFSET = 0;
    static final int READ_COUNTERS_OFFSET = 24;
    static final int ATTACH_COUNTERS_POINT_FLOW_OFFSET = 32;
    static final int CREATE_COUNTERS_OFFSET = 40;
    static final int DESTROY_COUNTERS_OFFSET = 48;
    static final int MODIFY_QP_RATE_LIMIT_OFFSET = 104;
    static final int MODIFY_CQ_OFFSET = 136;
    static final int DESTROY_RWQ_IND_TABLE_OFFSET = 152;
    static final int CREATE_RWQ_IND_TABLE_OFFSET = 160;
    static final int DESTROY_WQ_OFFSET = 168;
    static final int MODIFY_WQ_OFFSET = 176;
    static final int CREATE_WQ_OFFSET = 184;
    static final int QUERY_RT_VALUES_OFFSET = 192;
    static final int CREATE_CQ_EX_OFFSET = 200;
    static final int QUERY_DEVICE_EX_OFFSET = 216;
    static final int IBV_DESTROY_FLOW_OFFSET = 224;
    static final int IBV_CREATE_FLOW_OFFSET = 240;
    static final int CREATE_QP_EX_OFFSET = 264;
    static final int SZ_OFFSET = 312;
    static final int CONTEXT_OFFSET = 320;

    private VerbsContextLayout() {
    }
}
