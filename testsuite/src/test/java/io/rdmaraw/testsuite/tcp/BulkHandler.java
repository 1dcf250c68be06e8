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
 * The channel's end of a bulk transfer. It sends a stream as fast as the channel accepts it, followed by a FIN,
 * and computes the digest of the data received up to the peer's FIN. It sends chunks of different lengths, some
 * of them in registered memory.
 */
final class BulkHandler extends ChannelInboundHandlerAdapter {
    private static final int[] CHUNKS_BYTES = {100, 1_448, 1_800, 9_000, 65_536};

    private final BulkContent content;
    private final long bytes;
    private final MessageDigest digest = BulkContent.newDigest();
    private final CompletableFuture<String> received = new CompletableFuture<>();
    private long sentBytes;
    private int chunks;

    /** @param bytes number of bytes to send */
    BulkHandler(BulkContent content, long bytes) {
        this.content = content;
        this.bytes = bytes;
    }

    /** Returns the future digest of the received data. */
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
                // Netty discards the channel's pending writes when its output is shut down.
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
