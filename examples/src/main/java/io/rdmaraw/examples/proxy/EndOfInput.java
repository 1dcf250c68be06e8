package io.rdmaraw.examples.proxy;

import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.socket.ChannelInputShutdownEvent;

/** Handles the FIN of a peer that may still read, for connections with half-closure. */
public final class EndOfInput {
    private EndOfInput() {
    }

    /** Runs the reaction if the event signals the end of the input. */
    public static void ifSeen(Object event, Runnable reaction) {
        if (event == ChannelInputShutdownEvent.INSTANCE) {
            reaction.run();
        }
    }

    /** Closes a connection after all written data has been sent. */
    public static void closeWhenSent(Channel connection) {
        connection.writeAndFlush(Unpooled.EMPTY_BUFFER).addListener(ChannelFutureListener.CLOSE);
    }
}
