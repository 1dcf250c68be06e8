package io.rdmaraw.examples.frameworks;

import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.StatefulRedisConnection;
import io.rdmaraw.channel.RdmaRawEventLoopGroup;
import io.rdmaraw.lettuce.RdmaRawRedisClient;

/** A Lettuce client that sets a key on a Redis server, reads it and prints the value. */
public final class LettuceClient {
    private LettuceClient() {
    }

    private static void greet(RedisClient client) {
        try (client; StatefulRedisConnection<String, String> connection = client.connect()) {
            connection.sync().set("greeting", "Hello, World!");
            System.out.println(connection.sync().get("greeting"));
        }
    }

    /** Runs the client. */
    public static void main(String[] args) throws InterruptedException {
        Settings settings = Settings.parse(args);
        RedisURI redis = RedisURI.create(settings.address(), settings.port());
        if (settings.deviceOrNull() == null) {
            greet(RedisClient.create(redis));
        } else {
            RdmaRawEventLoopGroup loops = new RdmaRawEventLoopGroup(settings.threads(), settings.config());
            try {
                greet(RdmaRawRedisClient.create(loops, redis));
            } finally {
                loops.shutdownGracefully().sync();
            }
        }
    }
}
