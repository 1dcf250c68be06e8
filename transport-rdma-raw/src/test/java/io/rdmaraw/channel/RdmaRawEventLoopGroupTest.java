package io.rdmaraw.channel;

import io.netty.channel.EventLoopGroup;
import io.netty.util.concurrent.DefaultThreadFactory;
import org.junit.jupiter.api.Test;

import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

/** A group is made as Netty's groups are. */
class RdmaRawEventLoopGroupTest {
    @Test
    void threadsComeFromAFactory() throws Exception {
        ThreadFactory factory = new DefaultThreadFactory("ours");
        for (EventLoopGroup group : new EventLoopGroup[] {new RdmaRawEventLoopGroup(factory),
            new RdmaRawEventLoopGroup(1, factory)}) {
            try {
                String name = group.submit(() -> Thread.currentThread().getName()).get(30, TimeUnit.SECONDS);
                assertTrue(name.startsWith("ours-"), name);
            } finally {
                group.shutdownGracefully(0, 0, TimeUnit.SECONDS).get(30, TimeUnit.SECONDS);
            }
        }
    }

    @Test
    void aGroupIsReadableInALog() throws Exception {
        RdmaRawIoHandlerConfig config = RdmaRawIoHandlerConfig.builder().device("soft:loop:group").build();
        RdmaRawEventLoopGroup group = new RdmaRawEventLoopGroup(2, config);
        assertEquals("RdmaRawEventLoopGroup(2 loops, " + config + ')', group.toString());
        group.shutdownGracefully(0, 0, TimeUnit.SECONDS).get(30, TimeUnit.SECONDS);
        assertEquals("RdmaRawEventLoopGroup(2 loops, terminated, " + config + ')', group.toString());
    }
}
