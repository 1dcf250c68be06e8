package io.rdmaraw.verbs;

/** {@code enum ibv_event_type}, in its order. */
public enum AsyncEventType {
    CQ_ERR(Element.OBJECT),
    QP_FATAL(Element.OBJECT),
    QP_REQ_ERR(Element.OBJECT),
    QP_ACCESS_ERR(Element.OBJECT),
    COMM_EST(Element.OBJECT),
    SQ_DRAINED(Element.OBJECT),
    PATH_MIG(Element.OBJECT),
    PATH_MIG_ERR(Element.OBJECT),
    DEVICE_FATAL(Element.NONE),
    PORT_ACTIVE(Element.PORT),
    PORT_ERR(Element.PORT),
    LID_CHANGE(Element.PORT),
    PKEY_CHANGE(Element.PORT),
    SM_CHANGE(Element.PORT),
    SRQ_ERR(Element.OBJECT),
    SRQ_LIMIT_REACHED(Element.OBJECT),
    QP_LAST_WQE_REACHED(Element.OBJECT),
    CLIENT_REREGISTER(Element.PORT),
    GID_CHANGE(Element.PORT),
    WQ_FATAL(Element.OBJECT),
    /** A type that this version does not know. */
    UNKNOWN(Element.NONE);

    /** What the union in {@code struct ibv_async_event} holds. */
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
