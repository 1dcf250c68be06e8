package io.rdmaraw.verbs.objects;

/** The types of asynchronous events, in the order of {@code enum ibv_event_type}. */
public enum AsyncEventType {
    /** A completion queue has overrun. */
    CQ_ERR(Element.OBJECT),
    /** A queue pair has failed. */
    QP_FATAL(Element.OBJECT),
    /** A queue pair received an invalid request and has failed. */
    QP_REQ_ERR(Element.OBJECT),
    /** A queue pair violated access rights and has failed. */
    QP_ACCESS_ERR(Element.OBJECT),
    COMM_EST(Element.OBJECT),
    /** All outstanding sends of a queue pair have completed. */
    SQ_DRAINED(Element.OBJECT),
    PATH_MIG(Element.OBJECT),
    PATH_MIG_ERR(Element.OBJECT),
    /** The device has failed or was removed. */
    DEVICE_FATAL(Element.NONE),
    /** The link of a port has come up. */
    PORT_ACTIVE(Element.PORT),
    /** The link of a port has gone down. */
    PORT_ERR(Element.PORT),
    LID_CHANGE(Element.PORT),
    PKEY_CHANGE(Element.PORT),
    SM_CHANGE(Element.PORT),
    SRQ_ERR(Element.OBJECT),
    SRQ_LIMIT_REACHED(Element.OBJECT),
    QP_LAST_WQE_REACHED(Element.OBJECT),
    CLIENT_REREGISTER(Element.PORT),
    /** The GID table of a port has changed. */
    GID_CHANGE(Element.PORT),
    /** A work queue has failed. */
    WQ_FATAL(Element.OBJECT),
    /** An event type that this version does not know; see {@link AsyncEvent#rawType()}. */
    UNKNOWN(Element.NONE);

    /** The member of the union in {@code struct ibv_async_event} that an event type uses. */
    enum Element { OBJECT, PORT, NONE }

    private static final AsyncEventType[] VALUES = values();

    private final Element element;

    AsyncEventType(Element element) {
        this.element = element;
    }

    Element element() {
        return element;
    }

    static AsyncEventType of(int value) {
        return value >= 0 && value < VALUES.length ? VALUES[value] : UNKNOWN;
    }
}
