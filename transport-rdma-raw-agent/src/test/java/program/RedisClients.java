package program;

import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisFuture;
import io.lettuce.core.api.async.RedisAsyncCommands;
import org.redisson.Redisson;
import org.redisson.api.RBucket;
import org.redisson.api.RedissonClient;
import org.redisson.client.codec.StringCodec;
import org.redisson.config.Config;

import java.util.ArrayList;
import java.util.List;

/** Lettuce and Redisson, each with the transport that it selects. */
public final class RedisClients {
    private static final int REQUESTS = 200;

    private RedisClients() {
    }

    /** Uses the server in the property {@code redis}. */
    public static void main(String[] args) throws Exception {
        String url = System.getProperty("redis");
        RedisClient lettuce = RedisClient.create(url);
        RedisAsyncCommands<String, String> commands = lettuce.connect().async();
        List<RedisFuture<String>> answers = new ArrayList<>();
        for (int i = 0; i < REQUESTS; i++) {
            commands.set("key" + i, "value" + i);
            answers.add(commands.get("key" + i));
        }
        for (int i = 0; i < REQUESTS; i++) {
            require("value" + i, answers.get(i).get());
        }
        System.out.println("Lettuce: " + REQUESTS);
        lettuce.shutdown();
        Config config = new Config();
        config.setCodec(StringCodec.INSTANCE);
        config.useSingleServer().setAddress(url).setConnectionMinimumIdleSize(2).setConnectionPoolSize(4);
        RedissonClient redisson = Redisson.create(config);
        RBucket<String> bucket = redisson.getBucket("key0");
        require("value0", bucket.get());
        bucket.set("x".repeat(1 << 20));
        require("x".repeat(1 << 20), bucket.get());
        System.out.println("Redisson: " + bucket.size());
        redisson.shutdown();
    }

    private static void require(String expected, String value) {
        if (!expected.equals(value)) {
            throw new IllegalStateException("expected " + expected + ", got " + value);
        }
    }
}
