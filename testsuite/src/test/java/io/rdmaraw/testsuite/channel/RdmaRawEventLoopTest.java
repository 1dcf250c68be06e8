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

/** Netty's own tests of an event loop; the server channel is an NIO guest of the raw loop. */
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

    @Override
    protected Channel newChannel() {
        return new RdmaRawChannel();
    }

    @Override
    protected Class<? extends ServerChannel> serverChannelClass() {
        return NioServerSocketChannel.class;
    }
}
