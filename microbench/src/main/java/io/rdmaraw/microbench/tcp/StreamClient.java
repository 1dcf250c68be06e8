package io.rdmaraw.microbench.tcp;

import io.netty.bootstrap.Bootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoop;
import io.netty.channel.EventLoopGroup;
import io.rdmaraw.examples.server.Transport;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/**
 * A client on one event loop. Its connections do one thing at a time: send requests, send or receive in bulk, or open
 * and close.
 */
final class StreamClient implements AutoCloseable {
    /** The number of connections that are opened concurrently. */
    private static final int AT_ONCE = 100;

    private final EventLoopGroup group;
    private final Bootstrap bootstrap;
    private final String address;
    private final int firstPort;
    private final StreamCounts counts = new StreamCounts();
    private final List<Channel> channels = new ArrayList<>();
    private ConnectCycle cycle;
    private PacedRequests paced;
    private final List<ConnectRateClient> connectRateClients = new ArrayList<>();
    private Flood flood;
    private HostileLoad hostile;

    /**
     * Creates the event loop, without connections.
     *
     * @param address   the server's
     * @param firstPort the first of its ports
     * @param spinNanos how long a loop of ours polls before it sleeps
     */
    StreamClient(Transport transport, String device, String address, int firstPort, long spinNanos) {
        this.address = address;
        this.firstPort = firstPort;
        group = StreamLoop.open(transport, device, "client", spinNanos);
        bootstrap = new Bootstrap().group(group).channel(transport.socketChannel())
                .option(ChannelOption.TCP_NODELAY, true);
    }

    EventLoopGroup group() {
        return group;
    }

    StreamCounts counts() {
        return counts;
    }

    /** Sends requests on a number of connections, with one outstanding request on each. */
    void ask(int connections) throws InterruptedException {
        open(StreamServer.ECHO, connections, () -> new StreamHandlers.Requests(counts));
        for (int i = 0; i < connections; i += AT_ONCE) {
            List<Channel> some = List.copyOf(channels.subList(i, Math.min(connections, i + AT_ONCE)));
            group.submit(() -> some.forEach(
                    channel -> channel.pipeline().fireUserEventTriggered(StreamHandlers.START))).sync();
        }
    }

    /** Sends in bulk. */
    void send() throws InterruptedException {
        open(StreamServer.SINK, 1, StreamHandlers.Source::new);
    }

    /** Receives in bulk. */
    void receive() throws InterruptedException {
        open(StreamServer.SOURCE, 1, () -> new StreamHandlers.Sink(counts));
    }

    /** Opens connections and keeps them idle. */
    void idle(int connections) throws InterruptedException {
        open(StreamServer.ECHO, connections, ChannelInboundHandlerAdapter::new);
    }

    /** Opens and closes connections, a number of them concurrently. */
    void cycle(int parallel) {
        cycle = new ConnectCycle(bootstrap, firstPort + StreamServer.ECHO, counts);
        cycle.start(parallel);
    }

    /** Sends requests at a steady rate on a number of connections, and opens other connections at the same time. */
    void pace(int connections, int requestsPerSecond) throws InterruptedException {
        paced = new PacedRequests(counts, requestsPerSecond);
        open(StreamServer.ECHO, connections, paced::newHandler);
        InetSocketAddress server = new InetSocketAddress(address, firstPort + StreamServer.ECHO);
        for (int i = 0; i < ConnectRateClient.AT_ONCE; i++) {
            connectRateClients.add(new ConnectRateClient(bootstrap, server, counts));
        }
        EventLoop loop = channels.getFirst().eventLoop();
        List<Channel> all = List.copyOf(channels);
        loop.submit(() -> paced.start(loop, all)).sync();
        connectRateClients.forEach(ConnectRateClient::start);
    }

    /** Floods the server with frames until {@link #calm()}; without a kind these are frames that the server drops. */
    void flood(FloodKind kindOrNull) {
        flood = new Flood(address, firstPort + StreamServer.ECHO, kindOrNull);
    }

    /** Runs hostile peers beside the client until {@link #calm()}. */
    void hostile(HostileKind kind) {
        hostile = new HostileLoad(address, firstPort, kind);
    }

    /** Stops the flood or the hostile peers. */
    void calm() {
        if (hostile != null) {
            hostile.close();
            hostile = null;
        }
        if (flood != null) {
            flood.close();
            flood = null;
        }
    }

    /** Returns the frames that the flood or the hostile peers have sent so far. */
    long flooded() {
        return hostile != null ? hostile.sent() : flood == null ? 0 : flood.sent();
    }

    /** Returns how many hostile peers the server deals with. */
    int hostilePeers() {
        return hostile == null ? 0 : hostile.count();
    }

    private void open(int service, int connections, Supplier<ChannelHandler> newHandler) throws InterruptedException {
        // They end by RST: without that the port of each stays taken for a minute, and runs would use up all ports.
        Bootstrap with = bootstrap.clone().option(ChannelOption.SO_LINGER, 0)
                .handler(new ChannelInitializer<Channel>() {
                    @Override
                    protected void initChannel(Channel channel) {
                        channel.pipeline().addLast(newHandler.get());
                    }
                });
        InetSocketAddress server = new InetSocketAddress(address, firstPort + service);
        List<ChannelFuture> connecting = new ArrayList<>();
        for (int i = 0; i < connections; i++) {
            connecting.add(with.connect(server));
            if (connecting.size() == AT_ONCE || i == connections - 1) {
                for (ChannelFuture connected : connecting) {
                    channels.add(connected.sync().channel());
                }
                connecting.clear();
            }
        }
    }

    /** Stops everything and closes the connections. */
    void stop() {
        if (cycle != null) {
            cycle.stop();
            cycle = null;
        }
        calm();
        if (paced != null) {
            connectRateClients.forEach(ConnectRateClient::stop);
            connectRateClients.clear();
            group.submit(paced::stop).syncUninterruptibly();
            paced = null;
        }
        List<ChannelFuture> closing = channels.stream().map(Channel::close).toList();
        closing.forEach(ChannelFuture::syncUninterruptibly);
        channels.clear();
    }

    @Override
    public void close() {
        stop();
        group.shutdownGracefully(0, 5, TimeUnit.SECONDS).syncUninterruptibly();
    }
}
