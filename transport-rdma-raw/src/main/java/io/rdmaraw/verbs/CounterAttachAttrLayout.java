package io.rdmaraw.verbs;

/** {@code struct ibv_counter_attach_attr}. */
final class CounterAttachAttrLayout {
    static final int SIZE_BYTES = 12;
    static final int COUNTER_DESC_OFFSET = 0;
    static final int INDEX_OFFSET = 4;
    static final int COMP_MASK_OFFSET = 8;

    private CounterAttachAttrLayout() {
    }
}
