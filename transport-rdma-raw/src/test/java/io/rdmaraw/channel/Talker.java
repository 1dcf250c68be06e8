package io.rdmaraw.channel;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;

import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** Sends generated content as long as {@code wanted} is set, and checks the echo. */
final class Talker extends ChannelInboundHandlerAdapter {
    private static final int CONTENT_BYTES = 1 << 20;
    private static final int CHUNK_BYTES = 1 << 14;

    private final byte[] content = new byte[CONTENT_BYTES];
    private final MessageDigest sent = sha256();
    private final MessageDigest received = sha256();
    private final CountDownLatch finished = new CountDownLatch(1);
    private int next;
    private long sentBytes;
    private long receivedBytes;
    private long leftBytes;
    private boolean wanted = true;

    Talker(long seed) {
        this(seed, Long.MAX_VALUE);
    }

    /** @param limitBytes bytes to send before the first {@link #sendMore} */
    Talker(long seed, long limitBytes) {
        new Random(seed).nextBytes(content);
        leftBytes = limitBytes;
    }

    /** Raises the limit; called on the channel's loop. */
    void sendMore(Channel channel, long bytes) {
        leftBytes += bytes;
        talk(channel);
    }

    private static MessageDigest sha256() {
        try {
            return MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException(e);
        }
    }

    @Override
    public void channelActive(ChannelHandlerContext ctx) {
        talk(ctx.channel());
    }

    @Override
    public void channelWritabilityChanged(ChannelHandlerContext ctx) {
        talk(ctx.channel());
    }

    private void talk(Channel channel) {
        while (wanted && leftBytes > 0 && channel.isWritable()) {
            sent.update(content, next, CHUNK_BYTES);
            channel.writeAndFlush(Unpooled.copiedBuffer(content, next, CHUNK_BYTES));
            next = (next + CHUNK_BYTES) % CONTENT_BYTES;
            sentBytes += CHUNK_BYTES;
            leftBytes -= CHUNK_BYTES;
        }
    }

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object msg) {
        ByteBuf data = (ByteBuf) msg;
        receivedBytes += data.readableBytes();
        byte[] bytes = new byte[data.readableBytes()];
        data.readBytes(bytes).release();
        received.update(bytes);
        finishIfAllIsBack();
    }

    /** Stops sending; called on the channel's loop. */
    void enough() {
        wanted = false;
        finishIfAllIsBack();
    }

    private void finishIfAllIsBack() {
        if (!wanted && receivedBytes == sentBytes) {
            finished.countDown();
        }
    }

    /** Returns when all data has come back unchanged. {@link #enough()} must have been called. */
    void awaitAllBack() throws InterruptedException {
        assertTrue(finished.await(Patience.SECONDS, TimeUnit.SECONDS),
                () -> receivedBytes + " of " + sentBytes + " bytes came back");
        assertTrue(sentBytes > 0);
        assertArrayEquals(sent.digest(), received.digest());
    }
}
