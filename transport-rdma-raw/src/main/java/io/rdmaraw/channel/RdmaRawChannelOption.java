package io.rdmaraw.channel;

import io.netty.channel.ChannelOption;

/** Options of the channels of this transport, beside Netty's own. */
public final class RdmaRawChannelOption {
    /**
     * Whether the channel fires the frames of a poll as one {@link FrameBurst} in place of one ByteBuf each. Default
     * false.
     */
    public static final ChannelOption<Boolean> FRAME_BURSTS =
            ChannelOption.valueOf(RdmaRawChannelOption.class, "FRAME_BURSTS");

    /**
     * How many received frames a channel keeps while nobody reads (auto-read off). What exceeds it is dropped and
     * counted. Default 256.
     */
    public static final ChannelOption<Integer> RECEIVE_BACKLOG =
            ChannelOption.valueOf(RdmaRawChannelOption.class, "RECEIVE_BACKLOG");

    private RdmaRawChannelOption() {
    }
}
