package io.rdmaraw.tools.demo;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.rdmaraw.tools.frame.EthernetAddresses;
import io.rdmaraw.tools.run.RunFailure;

/** Sends each frame back to its sender in the buffer in which it arrived. */
final class EchoHandler extends ChannelInboundHandlerAdapter {
    private final RunFailure failure;

    EchoHandler(RunFailure failure) {
        this.failure = failure;
    }

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object msg) {
        ByteBuf frame = (ByteBuf) msg;
        EthernetAddresses.swap(frame);
        ctx.write(frame, ctx.voidPromise());
    }

    @Override
    public void channelReadComplete(ChannelHandlerContext ctx) {
        ctx.flush();
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
        failure.report(cause);
    }
}
