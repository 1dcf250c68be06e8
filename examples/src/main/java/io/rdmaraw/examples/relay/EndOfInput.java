package io.rdmaraw.examples.relay;

import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.socket.ChannelInputShutdownEvent;

/** What a peer that ends its sending, and may go on reading, means for a connection with half-closure. */
public final class EndOfInput {
    private EndOfInput() {
    }

    /** Runs the reaction if the event says that the peer sends no more. */
    public static void ifSeen(Object event, Runnable reaction) {
        if (event == ChannelInputShutdownEvent.INSTANCE) {
            reaction.run();
        }
    }

    /** Closes a connection behind all that was written to it. */
    public static void closeWhenSent(Channel connection) {
        connection.writeAndFlush(Unpooled.EMPTY_BUFFER).addListener(ChannelFutureListener.CLOSE);
    }
}
