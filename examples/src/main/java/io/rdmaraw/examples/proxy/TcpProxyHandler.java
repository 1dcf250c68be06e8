package io.rdmaraw.examples.proxy;

import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.socket.DuplexChannel;

/** One direction of a proxied connection: forwards received data to the other side. */
public final class TcpProxyHandler extends ChannelInboundHandlerAdapter {
    private final Channel other;

    /**
     * Creates the handler.
     *
     * @param other the side to which received data is forwarded
     */
    public TcpProxyHandler(Channel other) {
        this.other = other;
    }

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object msg) {
        other.write(msg, other.voidPromise());
    }

    @Override
    public void channelReadComplete(ChannelHandlerContext ctx) {
        other.flush();
    }

    /** Stops reading from the other side while this side is not writable, which slows down the sender. */
    @Override
    public void channelWritabilityChanged(ChannelHandlerContext ctx) {
        other.config().setAutoRead(ctx.channel().isWritable());
    }

    @Override
    public void userEventTriggered(ChannelHandlerContext ctx, Object event) {
        EndOfInput.ifSeen(event, () -> other.writeAndFlush(Unpooled.EMPTY_BUFFER)
                .addListener(sent -> ((DuplexChannel) other).shutdownOutput().addListener(done -> {
                    closeIfShutDown(other);
                    closeIfShutDown(ctx.channel());
                })));
    }

    private static void closeIfShutDown(Channel connection) {
        if (((DuplexChannel) connection).isShutdown()) {
            connection.close();
        }
    }

    @Override
    public void channelInactive(ChannelHandlerContext ctx) {
        if (other.isActive()) {
            EndOfInput.closeWhenSent(other);
        } else {
            other.close();
        }
    }

    /**
     * Closes both sides immediately, because a failed connection, such as one that was reset, has not ended in order.
     */
    @Override
    public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
        ctx.close();
        other.close();
    }
}
