package io.rdmaraw.reactornetty;

import io.netty.channel.Channel;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.socket.DatagramChannel;
import io.netty.channel.socket.ServerSocketChannel;
import io.netty.channel.socket.SocketChannel;
import io.rdmaraw.channel.RdmaRawDatagramChannel;
import io.rdmaraw.channel.RdmaRawEventLoopGroup;
import io.rdmaraw.channel.RdmaRawIoHandlerConfig;
import io.rdmaraw.channel.RdmaRawServerSocketChannel;
import io.rdmaraw.channel.RdmaRawSocketChannel;
import reactor.core.publisher.Mono;
import reactor.netty.resources.LoopResources;

import java.time.Duration;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/**
 * This transport's loops and channels for Reactor Netty: {@code HttpServer.create().runOn(new
 * RdmaRawLoopResources(config))}, and as well for clients. TCP and UDP go by the device that the settings name. Servers
 * and clients share the loops. To be disposed of when the servers and clients are.
 */
public final class RdmaRawLoopResources implements LoopResources {
    private static final Map<Class<?>, Supplier<Channel>> CHANNELS = Map.of(
            SocketChannel.class, RdmaRawSocketChannel::new,
            ServerSocketChannel.class, RdmaRawServerSocketChannel::new,
            DatagramChannel.class, RdmaRawDatagramChannel::new);
    private static final Map<Class<?>, Class<? extends Channel>> CHANNEL_CLASSES = Map.of(
            SocketChannel.class, RdmaRawSocketChannel.class,
            ServerSocketChannel.class, RdmaRawServerSocketChannel.class,
            DatagramChannel.class, RdmaRawDatagramChannel.class);

    private final RdmaRawEventLoopGroup loops;

    /**
     * Makes as many loops as Reactor Netty does by default.
     *
     * @param config how the loops drive their queues, and which device is theirs
     */
    public RdmaRawLoopResources(RdmaRawIoHandlerConfig config) {
        this(DEFAULT_IO_WORKER_COUNT, config);
    }

    /**
     * Makes loops.
     *
     * @param loops their number
     * @param config how they drive their queues, and which device is theirs
     */
    public RdmaRawLoopResources(int loops, RdmaRawIoHandlerConfig config) {
        this.loops = new RdmaRawEventLoopGroup(loops, config);
    }

    @Override
    public EventLoopGroup onServer(boolean useNative) {
        return loops;
    }

    @Override
    public <C extends Channel> C onChannel(Class<C> channelType, EventLoopGroup group) {
        return channelType.cast(find(CHANNELS, channelType).get());
    }

    @Override
    public <C extends Channel> Class<? extends C> onChannelClass(Class<C> channelType, EventLoopGroup group) {
        return find(CHANNEL_CLASSES, channelType).asSubclass(channelType);
    }

    private static <T> T find(Map<Class<?>, T> known, Class<?> channelType) {
        T found = known.get(channelType);
        if (found == null) {
            throw new IllegalArgumentException("the transport has no " + channelType.getSimpleName()
                    + "; give domain sockets another LoopResources by runOn");
        }
        return found;
    }

    @Override
    public void dispose() {
        disposeLater().subscribe();
    }

    @Override
    public boolean isDisposed() {
        return loops.isShuttingDown();
    }

    @Override
    public Mono<Void> disposeLater(Duration quietPeriod, Duration timeout) {
        return Mono.create(ended -> loops.shutdownGracefully(quietPeriod.toMillis(), timeout.toMillis(),
                TimeUnit.MILLISECONDS).addListener(done -> ended.success()));
    }
}
