package io.rdmaraw.microbench.tcp;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.rdmaraw.examples.server.Tuning;
import io.rdmaraw.microbench.rival.TunedTransport;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** A server on one event loop. It echoes on its first port, discards on the second, and sends on the third. */
final class StreamServer implements AutoCloseable {
    /** Offset of the echo port from the first port. The next two ports discard and send. */
    static final int ECHO = 0;
    static final int SINK = 1;
    static final int SOURCE = 2;
    private static final int BACKLOG = 4096;

    private final EventLoopGroup group;
    private final StreamCounts counts = new StreamCounts();
    private final List<Channel> listeners = new ArrayList<>();

    /** @param firstPort first of the three ports */
    StreamServer(TunedTransport transport, String device, String address, int firstPort)
            throws InterruptedException {
        group = StreamLoop.open(transport, device, "server");
        ServerBootstrap bootstrap = new ServerBootstrap().group(group)
                .channel(transport.transport().serverSocketChannel())
                .option(ChannelOption.SO_BACKLOG, BACKLOG).option(ChannelOption.SO_REUSEADDR, true)
                .childOption(ChannelOption.TCP_NODELAY, true);
        Tuning.applyTo(bootstrap, transport.tuning());
        listen(bootstrap, address, firstPort + ECHO, new StreamHandlers.Echo());
        listen(bootstrap, address, firstPort + SINK, new StreamHandlers.Sink(counts));
        listen(bootstrap, address, firstPort + SOURCE, new StreamHandlers.Source());
    }

    private void listen(ServerBootstrap bootstrap, String address, int port, ChannelHandler handler)
            throws InterruptedException {
        listeners.add(bootstrap.clone().childHandler(handler).bind(new InetSocketAddress(address, port)).sync()
                .channel());
    }

    EventLoopGroup group() {
        return group;
    }

    StreamCounts counts() {
        return counts;
    }

    @Override
    public void close() {
        listeners.forEach(listener -> listener.close().syncUninterruptibly());
        group.shutdownGracefully(0, 5, TimeUnit.SECONDS).syncUninterruptibly();
    }
}
