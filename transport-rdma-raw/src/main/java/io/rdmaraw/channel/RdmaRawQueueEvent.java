package io.rdmaraw.channel;

import io.netty.util.internal.UnstableApi;
import io.rdmaraw.device.QueueEvent;

/**
 * Something that happened to the queue under a channel; fired as a user event. The channel stays open unless the device
 * is gone.
 *
 * @param kind what happened
 * @param deviceName the device
 * @param portNumber its port, counted from 1
 * @param lostFrames frames that were accepted for sending and are lost
 */
@UnstableApi
public record RdmaRawQueueEvent(Kind kind, String deviceName, int portNumber, long lostFrames) {
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

    static RdmaRawQueueEvent of(QueueEvent event) {
        return new RdmaRawQueueEvent(Kind.valueOf(event.kind().name()), event.deviceName(), event.portNumber(),
                event.lostFrames());
    }
}
