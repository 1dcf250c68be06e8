package io.rdmaraw.device;

import io.rdmaraw.verbs.objects.AsyncEvent;

/**
 * A change of state of the queue below a channel.
 *
 * @param kind       the kind of event
 * @param deviceName name of the device
 * @param portNumber port number, from 1
 * @param lostFrames number of frames accepted for sending and lost
 */
public record QueueEvent(Kind kind, String deviceName, int portNumber, long lostFrames) {
    /** The kinds of events. */
    public enum Kind {
        /** The queue pair had failed and has been recovered. */
        QUEUE_RECOVERED,
        /** The queue pair or a completion queue has failed. A recovery follows. */
        QUEUE_FAILED,
        /** The port has lost its link. */
        PORT_DOWN,
        /** The port has a link again. */
        PORT_UP,
        /** The device is gone. The channel closes. */
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
