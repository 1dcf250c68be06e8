package io.rdmaraw.examples.server;

import io.netty.channel.Channel;
import io.netty.channel.EventLoopGroup;

import java.net.InetSocketAddress;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** A running server with its event loops. Closing it stops both. */
public final class RunningServer implements AutoCloseable {
    private static final long SHUTDOWN_SECONDS = 5;

    private final List<EventLoopGroup> groups;
    private final List<Channel> channels;
    private final RollingRestart restartOrNull;

    RunningServer(List<EventLoopGroup> groups, List<Channel> channels, RollingRestart restartOrNull) {
        this.groups = groups;
        this.channels = List.copyOf(channels);
        this.restartOrNull = restartOrNull;
    }

    /** Returns the address at which clients reach the server. */
    public InetSocketAddress address() {
        return (InetSocketAddress) channels.getFirst().localAddress();
    }

    /** Returns the listeners or datagram channels of the server. */
    public List<Channel> channels() {
        return channels;
    }

    /** Waits until the first channel is closed. Returns true if another process has taken over before. */
    boolean awaitEnd() throws InterruptedException {
        if (restartOrNull != null) {
            return restartOrNull.awaitDrained(channels.getFirst());
        }
        channels.getFirst().closeFuture().sync();
        return false;
    }

    static void shutDown(EventLoopGroup group) {
        group.shutdownGracefully(0, SHUTDOWN_SECONDS, TimeUnit.SECONDS).syncUninterruptibly();
    }

    @Override
    public void close() {
        channels.forEach(channel -> channel.close().syncUninterruptibly());
        groups.reversed().forEach(RunningServer::shutDown);
        if (restartOrNull != null) {
            restartOrNull.close();
        }
    }
}
