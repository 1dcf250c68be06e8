package io.rdmaraw.tools.demo.sockets;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;

/** A connection that sends as long as its channel is writable. */
final class StreamCheck extends EchoCheck {
    private static final int WRITE_BYTES = 30_000;

    private final int bytes;
    private int sent;
    private int returned;
    private int servedBy = -1;

    StreamCheck(int sender, int bytes) {
        super(sender);
        this.bytes = bytes;
    }

    @Override
    public void channelActive(ChannelHandlerContext ctx) {
        send(ctx);
    }

    @Override
    public void channelWritabilityChanged(ChannelHandlerContext ctx) {
        send(ctx);
    }

    private void send(ChannelHandlerContext ctx) {
        while (ctx.channel().isWritable() && sent < bytes) {
            int length = Math.min(bytes - sent, WRITE_BYTES);
            ByteBuf content = ctx.alloc().directBuffer(length);
            pattern().write(content, sent, length);
            sent += length;
            ctx.writeAndFlush(content);
        }
    }

    @Override
    ByteBuf contentOf(Object msg) {
        return (ByteBuf) msg;
    }

    @Override
    void received(ChannelHandlerContext ctx, ByteBuf content) {
        if (servedBy < 0) {
            servedBy = content.readByte();
        }
        int begin = returned;
        returned += content.readableBytes();
        int wrong = pattern().firstDifference(content, begin);
        if (wrong >= 0) {
            fail("byte " + wrong + " came back changed");
        } else if (returned > bytes) {
            fail(returned + " bytes came back of " + bytes);
        } else if (returned == bytes) {
            succeed(servedBy);
        }
    }

    @Override
    String progress() {
        return returned + " of " + bytes + " bytes";
    }
}
