package io.rdmaraw.lettuce;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.lettuce.core.RedisConnectionException;
import io.lettuce.core.RedisURI;
import io.netty.channel.SingleThreadEventLoop;
import io.rdmaraw.channel.RdmaRawEventLoopGroup;
import io.rdmaraw.channel.RdmaRawIoHandlerConfig;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.time.Duration;
import java.util.concurrent.TimeUnit;

/** A closed client leaves no channels on its loops, which are used further. */
@Timeout(60)
class ClientsEndTest {
    @Test
    void theChannelsThatAskedForNamesEnd() throws InterruptedException {
        RdmaRawEventLoopGroup loops = new RdmaRawEventLoopGroup(1, RdmaRawIoHandlerConfig.builder()
                .device("soft:loop:lettuce").build());
        try {
            RdmaRawRedisClient client = RdmaRawRedisClient.create(loops, RedisURI.builder().withHost("redis.invalid")
                    .withTimeout(Duration.ofSeconds(2)).build());
            assertThrows(RedisConnectionException.class, client::connect);
            client.shutdown(0, 10, TimeUnit.SECONDS);
            loops.next().submit(() -> { }).sync();
            assertEquals(0, loops.iterator().next() instanceof SingleThreadEventLoop loop
                    ? loop.registeredChannels() : -1);
        } finally {
            loops.shutdownGracefully(0, 10, TimeUnit.SECONDS).sync();
        }
    }
}
