package io.rdmaraw.testsuite.readme;

// readme:begin
import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.rdmaraw.channel.RdmaRawAddress;
import io.rdmaraw.channel.RdmaRawChannel;
import io.rdmaraw.channel.RdmaRawEventLoopGroup;
import io.rdmaraw.verbs.flow.FlowSpec;

/** Sends every frame of an Ethernet type back to its sender, in the memory the device wrote it to. */
public final class FrameEcho extends ChannelInboundHandlerAdapter {
    public static void main(String[] args) throws InterruptedException {
        RdmaRawEventLoopGroup group = new RdmaRawEventLoopGroup(1);
        FlowSpec flow = FlowSpec.parse("ether-type 0x88b5");
        ChannelFuture bound = new Bootstrap().group(group).channel(RdmaRawChannel.class).handler(new FrameEcho())
                .bind(RdmaRawAddress.of(args[0], flow)).await();
        if (!bound.isSuccess()) {
            System.err.println(bound.cause().getMessage());
            System.exit(1);
        }
        bound.channel().closeFuture().sync();
    }

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object msg) {
        ByteBuf frame = (ByteBuf) msg;
        ByteBuf sender = ctx.alloc().buffer(6).writeBytes(frame, 6, 6);
        frame.setBytes(6, frame, 0, 6).setBytes(0, sender);
        sender.release();
        ctx.write(frame, ctx.voidPromise());
    }

    @Override
    public void channelReadComplete(ChannelHandlerContext ctx) {
        ctx.flush();
    }
}
// readme:end
