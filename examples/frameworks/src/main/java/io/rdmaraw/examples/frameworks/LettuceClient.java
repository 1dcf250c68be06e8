package io.rdmaraw.examples.frameworks;

import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.StatefulRedisConnection;
import io.rdmaraw.channel.RdmaRawEventLoopGroup;
import io.rdmaraw.lettuce.RdmaRawRedisClient;

/** A client of Lettuce: sets a key of the Redis server at an address and port, and prints what it gets. */
public final class LettuceClient {
    private LettuceClient() {
    }

    private static void greet(RedisClient client) {
        try (client; StatefulRedisConnection<String, String> connection = client.connect()) {
            connection.sync().set("greeting", "Hello, World!");
            System.out.println(connection.sync().get("greeting"));
        }
    }

    /** Asks once. */
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
