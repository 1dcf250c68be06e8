package io.rdmaraw.verbs.abi;

/** {@code struct ibv_async_event}. */
public final class AsyncEventLayout {
    public static final int SIZE_BYTES = 16;
    public static final int ELEMENT_OFFSET = 0;
    public static final int EVENT_TYPE_OFFSET = 8;

    private AsyncEventLayout() {
    }
}
