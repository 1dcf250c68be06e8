package io.rdmaraw.device;

import io.rdmaraw.verbs.AsyncEvent;

/**
 * Something that happened to the queue under a channel.
 *
 * @param kind what happened
 * @param deviceName the device
 * @param portNumber its port, counted from 1
 * @param lostFrames frames that were accepted for sending and are lost
 */
public record QueueEvent(Kind kind, String deviceName, int portNumber, long lostFrames) {
    /** What happened. */
    public enum Kind {
        /** The queue pair had failed and works again. */
        RECOVERED,
        /** The queue pair or a completion queue has failed; recovery follows. */
        QUEUE_FAILED,
        /** The port has lost its link. */
        PORT_DOWN,
        /** The port has a link again. */
        PORT_UP,
        /** The device is gone; the channel closes. */
        DEVICE_REMOVED
    }

    public static Kind kindOf(AsyncEvent event) {
        return switch (event.type()) {
            case CQ_ERR, QP_FATAL, QP_REQ_ERR, QP_ACCESS_ERR, WQ_FATAL -> Kind.QUEUE_FAILED;
            case PORT_ERR -> Kind.PORT_DOWN;
            case PORT_ACTIVE -> Kind.PORT_UP;
            case DEVICE_FATAL -> Kind.DEVICE_REMOVED;
            default -> null;
        };
    }
}
