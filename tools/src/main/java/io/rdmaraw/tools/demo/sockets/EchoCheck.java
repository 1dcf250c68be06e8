package io.rdmaraw.tools.demo.sockets;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.util.ReferenceCountUtil;
import java.util.concurrent.CompletableFuture;

/** The client's end of a connection or of a sequence of datagrams. Compares the echo with the sent content. */
abstract class EchoCheck extends ChannelInboundHandlerAdapter {
    private final Pattern pattern;
    private final CompletableFuture<Integer> loop = new CompletableFuture<>();

    EchoCheck(int sender) {
        pattern = new Pattern(sender);
    }

    /** Returns the server's loop that echoed the content, once all of it has come back. */
    final CompletableFuture<Integer> servingLoop() {
        return loop;
    }

    final Pattern pattern() {
        return pattern;
    }

    final void succeed(int servedBy) {
        loop.complete(servedBy);
    }

    final void fail(String reason) {
        loop.completeExceptionally(new IllegalStateException(reason));
    }

    /** Processes received content. The caller releases it. */
    abstract void received(ChannelHandlerContext ctx, ByteBuf content);

    /** Returns the content of a received message. */
    abstract ByteBuf contentOf(Object msg);

    /** Returns the progress, for the message of a connection that does not end. */
    abstract String progress();

    @Override
    public final void channelRead(ChannelHandlerContext ctx, Object msg) {
        try {
            if (!loop.isDone()) {
                received(ctx, contentOf(msg));
            }
        } finally {
            ReferenceCountUtil.release(msg);
        }
    }

    @Override
    public final void channelInactive(ChannelHandlerContext ctx) {
        fail("closed by the peer after " + progress());
    }

    @Override
    public final void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
        fail(cause + " after " + progress());
        ctx.close();
    }
}
