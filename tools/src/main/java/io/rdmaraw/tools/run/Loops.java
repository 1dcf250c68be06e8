package io.rdmaraw.tools.run;

import io.netty.channel.EventLoopGroup;
import io.rdmaraw.channel.RdmaRawEventLoopGroup;
import io.rdmaraw.channel.RdmaRawIoHandlerConfig;
import java.util.concurrent.TimeUnit;

/**
 * A group of event loops for try-with-resources. {@code close} of the group itself would immediately reject tasks,
 * including those that its channels need to close.
 */
public final class Loops implements AutoCloseable {
    private static final long LIMIT_SECONDS = 5;

    private final RdmaRawEventLoopGroup group;

    public Loops(int count) {
        this(count, RdmaRawIoHandlerConfig.defaults());
    }

    public Loops(int count, RdmaRawIoHandlerConfig config) {
        group = new RdmaRawEventLoopGroup(count, config);
    }

    public EventLoopGroup group() {
        return group;
    }

    @Override
    public void close() {
        group.shutdownGracefully(0, LIMIT_SECONDS, TimeUnit.SECONDS).syncUninterruptibly();
    }
}
