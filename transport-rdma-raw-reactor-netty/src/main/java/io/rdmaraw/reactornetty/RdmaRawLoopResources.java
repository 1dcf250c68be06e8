package io.rdmaraw.reactornetty;

import io.netty.channel.Channel;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.socket.DatagramChannel;
import io.netty.channel.socket.ServerSocketChannel;
import io.netty.channel.socket.SocketChannel;
import io.netty.util.concurrent.FastThreadLocalThread;
import io.rdmaraw.channel.RdmaRawDatagramChannel;
import io.rdmaraw.channel.RdmaRawEventLoopGroup;
import io.rdmaraw.channel.RdmaRawIoHandlerConfig;
import io.rdmaraw.channel.RdmaRawServerSocketChannel;
import io.rdmaraw.channel.RdmaRawSocketChannel;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.NonBlocking;
import reactor.netty.resources.LoopResources;

import java.time.Duration;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;

/**
 * Provides this transport's loops and channels to Reactor Netty: {@code HttpServer.create().runOn(new
 * RdmaRawLoopResources(config))}, and likewise for clients. The configured device serves TCP and UDP. Servers and
 * clients share the loops. As in Reactor Netty, the threads of the loops are daemons and reject {@code block()}.
 * Dispose of the resources after the servers and clients.
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

    private static final AtomicInteger THREADS = new AtomicInteger();

    private final RdmaRawEventLoopGroup loops;

    /** Reactor rejects blocking calls on this thread, and BlockHound detects them. */
    private static final class LoopThread extends FastThreadLocalThread implements NonBlocking {
        LoopThread(Runnable loop) {
            super(loop, "rdma-raw-" + THREADS.incrementAndGet());
            setDaemon(true);
        }
    }

    /**
     * Creates as many loops as Reactor Netty does by default.
     *
     * @param config settings of the loops, including the device
     */
    public RdmaRawLoopResources(RdmaRawIoHandlerConfig config) {
        this(DEFAULT_IO_WORKER_COUNT, config);
    }

    /**
     * Creates loops.
     *
     * @param loops  number of loops
     * @param config settings of the loops, including the device
     */
    public RdmaRawLoopResources(int loops, RdmaRawIoHandlerConfig config) {
        this.loops = new RdmaRawEventLoopGroup(loops, LoopThread::new, config);
    }

    @Override
    public boolean daemon() {
        return true;
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
