package io.rdmaraw.examples.kv;

import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.handler.codec.redis.ArrayRedisMessage;
import io.netty.handler.codec.redis.ErrorRedisMessage;
import io.netty.handler.codec.redis.FullBulkStringRedisMessage;
import io.netty.handler.codec.redis.InlineCommandRedisMessage;
import io.netty.handler.codec.redis.RedisMessage;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** Decodes commands and sends the replies. All commands of one read share a flush. */
final class CommandHandler extends SimpleChannelInboundHandler<RedisMessage> {
    private final Commands commands;

    CommandHandler(Commands commands) {
        this.commands = commands;
    }

    @Override
    protected void channelRead0(ChannelHandlerContext ctx, RedisMessage message) {
        List<byte[]> words = new ArrayList<>();
        if (message instanceof ArrayRedisMessage array && !array.isNull()) {
            for (RedisMessage child : array.children()) {
                if (!(child instanceof FullBulkStringRedisMessage word) || word.isNull()) {
                    fail(ctx);
                    return;
                }
                byte[] bytes = new byte[word.content().readableBytes()];
                word.content().getBytes(word.content().readerIndex(), bytes);
                words.add(bytes);
            }
        } else if (message instanceof InlineCommandRedisMessage inline) {
            for (String word : inline.content().strip().split("\\s+")) {
                words.add(word.getBytes(StandardCharsets.ISO_8859_1));
            }
        } else {
            fail(ctx);
            return;
        }
        if (!words.isEmpty() && words.getFirst().length > 0) {
            ctx.write(commands.run(words));
        }
    }

    private static void fail(ChannelHandlerContext ctx) {
        ctx.writeAndFlush(new ErrorRedisMessage("ERR Protocol error: expected an array of bulk strings"))
                .addListener(ChannelFutureListener.CLOSE);
    }

    @Override
    public void channelReadComplete(ChannelHandlerContext ctx) {
        ctx.flush();
    }

    /** Stops reading from a client until it has received its replies. */
    @Override
    public void channelWritabilityChanged(ChannelHandlerContext ctx) {
        ctx.channel().config().setAutoRead(ctx.channel().isWritable());
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
        ctx.close();
    }
}
