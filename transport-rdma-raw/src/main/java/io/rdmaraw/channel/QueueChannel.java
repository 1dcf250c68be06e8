package io.rdmaraw.channel;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.rdmaraw.queue.ReceiveBurst;

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

    /**
     * Takes frames that follow one another in a burst and came by one rule, with as little ado for each as can be.
     *
     * @param from the first of them; none is taken yet ({@link ReceiveBurst#takeFrame})
     * @param end behind the last of them
     * @return behind the last that the channel has taken; {@code from} when it has to be given them one by one
     */
    default int receiveRun(ReceiveBurst burst, int from, int end) {
        return from;
    }

    /** Tells whether the channel has taken frames since {@link #endBurst()}; for those that take runs. */
    default boolean isInBurst() {
        return false;
    }

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
