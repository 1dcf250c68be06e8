package io.rdmaraw.verbs;

/** {@code struct ibv_async_event}. */
final class AsyncEventLayout {
    static final int SIZE_BYTES = 16;
    static final int ELEMENT_OFFSET = 0;
    static final int EVENT_TYPE_OFFSET = 8;

    private AsyncEventLayout() {
    }
}
