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
import io.rdmaraw.examples.server.Tuning;
import io.rdmaraw.microbench.rival.TunedTransport;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/**
 * A client on one event loop. Its connections run one load at a time: requests, a bulk transfer, or opening and
 * closing.
 */
final class StreamClient implements AutoCloseable {
    /** Number of connections that are opened concurrently. */
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
     * Creates the event loop without any connection.
     *
     * @param device    device of the transport
     * @param address   address of the server
     * @param firstPort first port of the server
     * @param spinNanos time for which a loop of this transport polls before it sleeps
     */
    StreamClient(TunedTransport transport, String device, String address, int firstPort, long spinNanos) {
        this.address = address;
        this.firstPort = firstPort;
        group = StreamLoop.open(transport, device, "client", spinNanos);
        bootstrap = new Bootstrap().group(group).channel(transport.transport().socketChannel())
                .option(ChannelOption.TCP_NODELAY, true);
        Tuning.applyTo(bootstrap, transport.tuning());
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

    /** Starts to send data on one connection as fast as possible. */
    void send() throws InterruptedException {
        open(StreamServer.SINK, 1, StreamHandlers.Source::new);
    }

    /** Starts to receive data on one connection as fast as possible. */
    void receive() throws InterruptedException {
        open(StreamServer.SOURCE, 1, () -> new StreamHandlers.Sink(counts));
    }

    /** Opens connections and keeps them idle. */
    void idle(int connections) throws InterruptedException {
        open(StreamServer.ECHO, connections, ChannelInboundHandlerAdapter::new);
    }

    /** Opens and closes connections continuously, with the given number open at a time. */
    void cycle(int parallel) {
        cycle = new ConnectCycle(bootstrap, firstPort + StreamServer.ECHO, counts);
        cycle.start(parallel);
    }

    /** Sends requests at a constant rate on a number of connections, and opens other connections at the same time. */
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

    /**
     * Floods the server with frames until {@link #calm()}. Without a kind, the server drops these frames because of
     * wrong checksums.
     */
    void flood(FloodKind kindOrNull) {
        flood = new Flood(address, firstPort + StreamServer.ECHO, kindOrNull);
    }

    /** Runs hostile peers in addition to the client until {@link #calm()}. */
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

    /** Returns the number of frames that the flood or the hostile peers have sent so far. */
    long flooded() {
        return hostile != null ? hostile.sent() : flood == null ? 0 : flood.sent();
    }

    /** Returns the number of hostile peers that have state at the server. */
    int hostilePeers() {
        return hostile == null ? 0 : hostile.count();
    }

    private void open(int service, int connections, Supplier<ChannelHandler> newHandler) throws InterruptedException {
        // A reset frees the port at once. Otherwise ports would stay in TIME-WAIT and run out after some runs.
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

    /** Stops the current load and closes the connections. */
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
