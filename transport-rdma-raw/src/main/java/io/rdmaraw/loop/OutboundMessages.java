package io.rdmaraw.loop;

import io.netty.channel.ChannelOutboundBuffer;

/** Removes messages from a channel's outbound buffer. */
public final class OutboundMessages {
    private OutboundMessages() {
    }

    /**
     * Removes a message that {@link ChannelOutboundBuffer#forEachFlushedMessage} has passed to its processor. Netty
     * skips cancelled messages there and leaves them in the buffer, so they are removed first.
     */
    public static void complete(ChannelOutboundBuffer in, Object msg, Throwable failureOrNull) {
        while (in.current() != msg && in.remove()) {
            // Ends at the message, or when a listener has closed the channel.
        }
        if (failureOrNull == null) {
            in.remove();
        } else {
            in.remove(failureOrNull);
        }
    }
}
