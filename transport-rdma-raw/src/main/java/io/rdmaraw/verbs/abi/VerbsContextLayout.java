package io.rdmaraw.verbs.abi;

/** {@code struct verbs_context}, which lies around an extended {@code ibv_context}. It grows at its start, so an offset
 * counts from the start only in the version of the header used here; {@code VerbsContext} turns it into a distance from
 * the embedded context, which no version changes. */
public final class VerbsContextLayout {
    public static final int QUERY_PORT_OFFSET = 0;
    public static final int MODIFY_QP_RATE_LIMIT_OFFSET = 104;
    public static final int DESTROY_RWQ_IND_TABLE_OFFSET = 152;
    public static final int CREATE_RWQ_IND_TABLE_OFFSET = 160;
    public static final int DESTROY_WQ_OFFSET = 168;
    public static final int MODIFY_WQ_OFFSET = 176;
    public static final int CREATE_WQ_OFFSET = 184;
    public static final int QUERY_DEVICE_EX_OFFSET = 216;
    public static final int IBV_DESTROY_FLOW_OFFSET = 224;
    public static final int IBV_CREATE_FLOW_OFFSET = 240;
    public static final int CREATE_QP_EX_OFFSET = 264;
    public static final int SZ_OFFSET = 312;
    public static final int CONTEXT_OFFSET = 320;
    public static final int SIZE_BYTES = CONTEXT_OFFSET + ContextLayout.SIZE_BYTES;

    private VerbsContextLayout() {
    }
}
