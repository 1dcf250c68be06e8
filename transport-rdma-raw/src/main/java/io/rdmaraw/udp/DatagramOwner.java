package io.rdmaraw.udp;

import io.rdmaraw.device.QueueEvent;
import io.rdmaraw.metrics.RdmaRawMetered;

import java.io.IOException;

/** The events of an endpoint that its channel handles. Used on the loop's thread only. */
public interface DatagramOwner {
    /** Handles an event of the queue. */
    void queueEvent(QueueEvent event);

    /** Handles room in the send queue, after the endpoint has waited for it. */
    void sendQueueHasRoom();

    /** Returns the exception for a frame that the device rejected with this errno. */
    IOException sendFailure(int errno);

    /** Returns the channel's counters. */
    RdmaRawMetered statistics();
}
