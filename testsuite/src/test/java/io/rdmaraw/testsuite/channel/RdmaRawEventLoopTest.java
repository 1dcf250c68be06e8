package io.rdmaraw.testsuite.channel;

import io.netty.channel.Channel;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.ServerChannel;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.testsuite.transport.AbstractSingleThreadEventLoopTest;
import io.netty.util.concurrent.DefaultThreadFactory;
import io.netty.util.concurrent.ThreadPerTaskExecutor;
import io.rdmaraw.channel.RdmaRawChannel;
import io.rdmaraw.channel.RdmaRawEventLoopGroup;
import io.rdmaraw.channel.RdmaRawIoHandler;
import org.junit.jupiter.api.Disabled;
import org.junit.jupiter.api.Test;

/**
 * Runs Netty's own tests of an event loop. The server channel is an NIO channel that this transport's loop also serves.
 */
class RdmaRawEventLoopTest extends AbstractSingleThreadEventLoopTest {
    @Override
    protected boolean supportsChannelIteration() {
        return true;
    }

    @Override
    protected EventLoopGroup newEventLoopGroup() {
        return new RdmaRawEventLoopGroup(1);
    }

    @Override
    protected EventLoopGroup newAutoScalingEventLoopGroup() {
        return new MultiThreadIoEventLoopGroup(SCALING_MAX_THREADS,
                new ThreadPerTaskExecutor(new DefaultThreadFactory(RdmaRawEventLoopTest.class)),
                AUTO_SCALING_CHOOSER_FACTORY, RdmaRawIoHandler.newFactory());
    }

    /**
     * Not supported: a loop without channels may still have TCP connections to close. See
     * docs/reference/differences.md.
     */
    @Test
    @Override
    @Disabled("loops of this transport are not suspended")
    public void testAutoScalingEventLoopGroupCanScaleDownAndBeUsed() {
    }

    /** Not supported, for the same reason. */
    @Test
    @Override
    @Disabled("loops of this transport are not suspended")
    public void testSubmittingTaskWakesUpSuspendedExecutor() {
    }

    @Override
    protected Channel newChannel() {
        return new RdmaRawChannel();
    }

    @Override
    protected Class<? extends ServerChannel> serverChannelClass() {
        return NioServerSocketChannel.class;
    }
}
