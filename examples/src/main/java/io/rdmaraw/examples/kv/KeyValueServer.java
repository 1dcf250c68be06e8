package io.rdmaraw.examples.kv;

import io.netty.channel.Channel;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoopGroup;
import io.netty.handler.codec.redis.RedisArrayAggregator;
import io.netty.handler.codec.redis.RedisBulkStringAggregator;
import io.netty.handler.codec.redis.RedisDecoder;
import io.netty.handler.codec.redis.RedisEncoder;
import io.rdmaraw.examples.server.ServerCommand;
import picocli.CommandLine.Command;

import java.net.InetSocketAddress;
import java.util.List;

/** An in-memory key-value store with the protocol of Redis (RESP 2), so that Redis clients work with it. */
@Command(name = "redis", mixinStandardHelpOptions = true, description = "Key-value server with Redis' protocol.")
public final class KeyValueServer extends ServerCommand {
    private static final int PORT = 6379;
    private static final int MAX_WORDS = 1 << 16;

    @Override
    protected int defaultPort() {
        return PORT;
    }

    @Override
    protected List<Channel> open(EventLoopGroup group, InetSocketAddress local) throws Exception {
        Commands commands = new Commands(new Store(System::nanoTime));
        return List.of(listen(group, local, new ChannelInitializer<>() {
            @Override
            protected void initChannel(Channel connection) {
                connection.pipeline().addLast(new RedisDecoder(true), new RedisBulkStringAggregator(),
                        new RedisArrayAggregator(MAX_WORDS, 1), new RedisEncoder(),
                        new CommandHandler(commands));
            }
        }));
    }
}
