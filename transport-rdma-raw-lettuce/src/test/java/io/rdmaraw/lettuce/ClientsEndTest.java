package io.rdmaraw.lettuce;

import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.lettuce.core.RedisConnectionException;
import io.lettuce.core.RedisURI;
import io.netty.channel.SingleThreadEventLoop;
import io.rdmaraw.channel.RdmaRawEventLoopGroup;
import io.rdmaraw.channel.RdmaRawIoHandlerConfig;
import io.rdmaraw.testsuite.net.Await;
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
            SingleThreadEventLoop loop = assertInstanceOf(SingleThreadEventLoop.class, loops.iterator().next());
            // A channel is deregistered in a task of its own, after it has been closed.
            Await.until("no channels are left", () -> loop.registeredChannels() == 0);
        } finally {
            loops.shutdownGracefully(0, 10, TimeUnit.SECONDS).sync();
        }
    }
}
