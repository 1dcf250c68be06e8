package io.rdmaraw.channel;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;

/**
 * A channel as its queue sees it: what channels implement in a part of their own, so that their users do not see it.
 * All calls come on the loop's thread.
 */
interface QueueChannel {
    /** Returns the channel itself; null for what serves several, or the queue's host. */
    Channel channel();

    /**
     * Takes a received frame and its reference.
     *
     * @param checksumVerified whether the device has verified the frame's IPv4 and TCP or UDP checksums
     * @return true for the first frame of a burst: the queue then calls {@link #endBurst()} once
     */
    boolean receive(ByteBuf frame, boolean checksumVerified);

    /** Ends the frames of one poll. */
    void endBurst();

    /** The device has taken frames; called once after {@link PortQueue#awaitRoom}. */
    void sendQueueHasRoom();

    /** The queue has something to tell. */
    default void queueEvent(RdmaRawQueueEvent event) {
        if (channel() != null) {
            channel().pipeline().fireUserEventTriggered(event);
        }
    }

    /** The device is gone, and the queue with it. */
    default void queueGone() {
        if (channel() != null) {
            channel().unsafe().close(channel().unsafe().voidPromise());
        }
    }

    /** Returns what the statistics are listed under. */
    default String label() {
        return channel().id().asShortText() + ' ' + channel().localAddress();
    }

    /** Returns what the channel counts, or null. */
    default RdmaRawMetered statistics() {
        return null;
    }
}
