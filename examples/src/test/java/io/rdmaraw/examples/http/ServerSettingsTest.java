package io.rdmaraw.examples.http;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.bootstrap.ServerBootstrapConfig;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.PooledByteBufAllocator;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.util.concurrent.DefaultThreadFactory;
import io.rdmaraw.examples.server.ExampleException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;

import java.nio.file.Path;
import java.util.concurrent.TimeUnit;

class ServerSettingsTest {
    private final EventLoopGroup group = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());

    @AfterEach
    void end() {
        group.shutdownGracefully(0, 0, TimeUnit.SECONDS).syncUninterruptibly();
    }

    private ServerBootstrapConfig config(EventLoopGroup boss, String... options) {
        ServerSettings settings = CommandLine.populateCommand(new ServerSettings(), options);
        return settings.newBootstrap(group, () -> boss).config();
    }

    private ByteBufAllocator allocator(String... options) {
        return (ByteBufAllocator) config(null, options).childOptions().get(ChannelOption.ALLOCATOR);
    }

    @Test
    void connectionsHaveTheAllocatorThatIsNamed() {
        assertNull(allocator());
        assertTrue(assertInstanceOf(PooledByteBufAllocator.class, allocator("--allocator", "pooled"))
                .isDirectBufferPooled());
        ByteBufAllocator heap = assertInstanceOf(PooledByteBufAllocator.class, allocator("--allocator", "heap"));
        ByteBuf buffer = heap.buffer(1);
        assertFalse(buffer.isDirect());
        buffer.release();
    }

    @Test
    void connectionsAreAcceptedOnTheSameLoopsUnlessAGroupIsWanted() {
        assertSame(group, config(null).group());
        EventLoopGroup boss = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
        try {
            assertSame(boss, config(boss, "--boss-group").group());
            assertNotSame(boss, config(boss, "--boss-group").childGroup());
        } finally {
            boss.shutdownGracefully(0, 0, TimeUnit.SECONDS).syncUninterruptibly();
        }
    }

    @Test
    void aTakeoverAndABossGroupAreRefusedTogether(@TempDir Path directory) {
        HttpServer server = new HttpServer();
        new CommandLine(server).parseArgs("--device", "soft:loop", "--port", "0", "--boss-group", "--takeover",
                directory.resolve("socket").toString());
        ExampleException refused = assertThrows(ExampleException.class,
                () -> server.start(new DefaultThreadFactory("test")));
        assertTrue(refused.getMessage().contains("--boss-group"), refused.getMessage());
    }
}
