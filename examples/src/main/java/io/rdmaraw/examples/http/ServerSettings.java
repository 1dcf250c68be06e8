package io.rdmaraw.examples.http;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.PooledByteBufAllocator;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.rdmaraw.examples.server.OptionNames;
import picocli.CommandLine.Option;

import java.util.Locale;
import java.util.function.Supplier;

/** Settings of programs that were not written for this transport. Benchmarks measure their cost. */
final class ServerSettings {
    /** The source of the connections' buffers. */
    enum Allocator {
        /** The allocator of the transport; rdma-raw allocates registered memory. */
        DEFAULT,
        /** Netty's pooled allocator with direct memory. */
        POOLED,
        /** Netty's pooled allocator on the Java heap. */
        HEAP;

        String text() {
            return name().toLowerCase(Locale.ROOT);
        }

        private ByteBufAllocator allocatorOrNull() {
            return switch (this) {
                case DEFAULT -> null;
                case POOLED -> PooledByteBufAllocator.DEFAULT;
                case HEAP -> new PooledByteBufAllocator(false);
            };
        }
    }

    /** The names in command line options. */
    static final class AllocatorNames extends OptionNames<Allocator> {
        private static final long serialVersionUID = 1L;

        /** Called by picocli. */
        AllocatorNames() {
            super(Allocator.values(), Allocator::text);
        }
    }

    @Option(names = "--allocator", paramLabel = "A", defaultValue = "default", converter = AllocatorNames.class,
            completionCandidates = AllocatorNames.class, description = "ChannelOption.ALLOCATOR of the connections:"
                    + " default: the transport's; pooled: Netty's, off the heap; heap: Netty's, on it")
    private Allocator allocator;

    @Option(names = "--boss-group", description = "accept connections on a loop of its own")
    private boolean hasBossGroup;

    /**
     * Creates a bootstrap with these settings.
     *
     * @param group   event loops of the connections
     * @param newBoss creates the group that accepts connections, if it is separate
     */
    ServerBootstrap newBootstrap(EventLoopGroup group, Supplier<EventLoopGroup> newBoss) {
        ServerBootstrap bootstrap = new ServerBootstrap();
        if (hasBossGroup) {
            bootstrap.group(newBoss.get(), group);
        } else {
            bootstrap.group(group);
        }
        ByteBufAllocator own = allocator.allocatorOrNull();
        return own == null ? bootstrap : bootstrap.childOption(ChannelOption.ALLOCATOR, own);
    }
}
