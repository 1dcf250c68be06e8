package io.rdmaraw.testsuite.tcp;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.socket.ChannelInputShutdownEvent;
import io.netty.channel.socket.DuplexChannel;

import java.security.MessageDigest;
import java.util.concurrent.CompletableFuture;

/**
 * Our end of a bulk transfer: sends a stream as fast as the channel takes it, then FIN, and takes the digest of what
 * comes until the peer's FIN. In chunks of different lengths: some are registered memory and some are not.
 */
final class BulkHandler extends ChannelInboundHandlerAdapter {
    private static final int[] CHUNKS_BYTES = {100, 1_448, 1_800, 9_000, 65_536};

    private final BulkContent content;
    private final long bytes;
    private final MessageDigest digest = BulkContent.newDigest();
    private final CompletableFuture<String> received = new CompletableFuture<>();
    private long sentBytes;
    private int chunks;

    /** @param bytes how many to send */
    BulkHandler(BulkContent content, long bytes) {
        this.content = content;
        this.bytes = bytes;
    }

    /** The digest of what came. */
    CompletableFuture<String> received() {
        return received;
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
        while (sentBytes < bytes && ctx.channel().isWritable()) {
            int limit = CHUNKS_BYTES[chunks++ % CHUNKS_BYTES.length];
            ByteBuf chunk = ctx.alloc().directBuffer(limit);
            sentBytes += content.write(sentBytes, chunk, Math.min(limit, bytes - sentBytes));
            ChannelFuture written = ctx.write(chunk).addListener(ChannelFutureListener.FIRE_EXCEPTION_ON_FAILURE);
            if (sentBytes == bytes) {
                // Netty drops what waits in the channel when its output is shut down.
                written.addListener((ChannelFuture last) -> ((DuplexChannel) last.channel()).shutdownOutput()
                        .addListener(ChannelFutureListener.FIRE_EXCEPTION_ON_FAILURE));
            }
        }
        ctx.flush();
    }

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object msg) {
        ByteBuf data = (ByteBuf) msg;
        BulkContent.update(digest, data);
        data.release();
    }

    @Override
    public void userEventTriggered(ChannelHandlerContext ctx, Object event) {
        if (event instanceof ChannelInputShutdownEvent) {
            received.complete(BulkContent.text(digest));
        }
    }

    @Override
    public void channelInactive(ChannelHandlerContext ctx) {
        received.completeExceptionally(new AssertionError("the connection ended before the peer's FIN"));
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
        received.completeExceptionally(cause);
    }
}
