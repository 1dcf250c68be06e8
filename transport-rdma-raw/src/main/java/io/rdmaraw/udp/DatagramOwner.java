package io.rdmaraw.udp;

import io.rdmaraw.device.QueueEvent;
import io.rdmaraw.metrics.RdmaRawMetered;
import io.rdmaraw.metrics.internal.FrameDrops;

import java.io.IOException;

/**
 * The channel of a {@link DatagramEndpoint}, as seen by the endpoint. The channel handles the endpoint's events and
 * provides the exceptions and counters. Used on the loop's thread only, except {@link #statistics}.
 */
public interface DatagramOwner {
    /** Handles an event of the queue. */
    void onQueueEvent(QueueEvent event);

    /**
     * Resumes sending. Called when there is room again in the send queue of the device or in the kernel socket, after
     * the endpoint has waited for it.
     */
    void onSendRoom();

    /** Returns the exception for a frame that the device rejected with this errno. */
    IOException sendFailure(int errno);

    /** Returns the channel's counters. Called on any thread, since metrics read them. */
    RdmaRawMetered statistics();

    /** Returns the channel's counters of received datagrams that are dropped. */
    FrameDrops<?> frameDrops();
}
