package io.rdmaraw.channel;

import io.netty.util.internal.UnstableApi;
import io.rdmaraw.device.QueueEvent;

/**
 * A user event that reports a state change of the queue used by a channel. The channel stays open, unless the device
 * was removed.
 *
 * @param kind state change
 * @param deviceName name of the device
 * @param portNumber port of the device; the first port is 1
 * @param lostFrames number of frames that were accepted for sending and are lost
 */
@UnstableApi
public record RdmaRawQueueEvent(Kind kind, String deviceName, int portNumber, long lostFrames) {
    /** The state changes of a queue. */
    public enum Kind {
        /** The queue pair failed and works again. */
        QUEUE_RECOVERED,
        /** The queue pair or a completion queue has failed. The transport recovers it. */
        QUEUE_FAILED,
        /** The port has no link any more. */
        PORT_DOWN,
        /** The port has a link again. */
        PORT_UP,
        /** The device was removed. The channel closes. */
        DEVICE_REMOVED
    }

    static RdmaRawQueueEvent of(QueueEvent event) {
        return new RdmaRawQueueEvent(Kind.valueOf(event.kind().name()), event.deviceName(), event.portNumber(),
                event.lostFrames());
    }
}
