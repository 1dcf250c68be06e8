package io.rdmaraw.testsuite.hostmodel;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.ServerChannel;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.DatagramChannel;
import io.netty.channel.socket.DatagramPacket;
import io.netty.channel.socket.SocketProtocolFamily;
import io.netty.channel.socket.nio.NioDatagramChannel;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.rdmaraw.channel.RdmaRawDatagramChannel;
import io.rdmaraw.channel.RdmaRawEventLoopGroup;
import io.rdmaraw.channel.RdmaRawIoHandlerConfig;
import io.rdmaraw.channel.RdmaRawServerSocketChannel;
import io.rdmaraw.channel.RdmaRawSocketChannel;
import io.rdmaraw.metrics.RdmaRawMetrics;
import io.rdmaraw.metrics.RdmaRawTcpStatistics;
import io.rdmaraw.testsuite.net.NetworkNamespace;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * The program of a host: echo servers for datagrams and connections, and clients. The same program runs on this
 * transport and on kernel sockets, on a single loop. The thread of the loop belongs to the namespace and does all work.
 */
final class NettyHost implements AutoCloseable {
    static final int UDP4_PORT = 7007;
    static final int UDP6_PORT = 7008;
    static final int TCP4_PORT = 7009;
    static final int TCP6_PORT = 7010;
    /** The start of each datagram's payload, followed by the number of its probe. */
    static final int MAGIC = 0x7072_6f62;
    /** The handler of a client connection, which neither sends nor expects data. */
    private static final ChannelHandler IDLE = new Idle();

    private final String deviceOrNull;
    private final EventLoopGroup group;
    private final Function<SocketProtocolFamily, DatagramChannel> datagrams;
    private final Supplier<ServerChannel> servers;
    private final Supplier<Channel> clients;
    private final Map<Integer, String> delivered = new ConcurrentHashMap<>();
    private final Map<Integer, String> outcomes = new ConcurrentHashMap<>();
    private final Map<Integer, ChannelFuture> connecting = new ConcurrentHashMap<>();
    private DatagramChannel udp4;
    private DatagramChannel udp6;

    private NettyHost(String deviceOrNull, EventLoopGroup group,
            Function<SocketProtocolFamily, DatagramChannel> datagrams, Supplier<ServerChannel> servers,
            Supplier<Channel> clients) {
        this.deviceOrNull = deviceOrNull;
        this.group = group;
        this.datagrams = datagrams;
        this.servers = servers;
        this.clients = clients;
    }

    /** Starts the program on kernel sockets. */
    static NettyHost onKernel(NetworkNamespace namespace) throws Exception {
        NettyHost host = new NettyHost(null,
                new MultiThreadIoEventLoopGroup(1, namespace.threadFactory(), NioIoHandler.newFactory()),
                NioDatagramChannel::new, NioServerSocketChannel::new, NioSocketChannel::new);
        host.start();
        return host;
    }

    /** Starts the program on this transport. */
    static NettyHost onDevice(NetworkNamespace namespace, String device) throws Exception {
        NettyHost host = new NettyHost(device,
                new RdmaRawEventLoopGroup(1, namespace.threadFactory(),
                        RdmaRawIoHandlerConfig.builder().device(device).build()),
                RdmaRawDatagramChannel::new, RdmaRawServerSocketChannel::new, RdmaRawSocketChannel::new);
        host.start();
        return host;
    }

    private void start() throws Exception {
        udp4 = bindDatagrams(SocketProtocolFamily.INET, new InetSocketAddress(Frame.ofText("0.0.0.0"), UDP4_PORT));
        udp6 = bindDatagrams(SocketProtocolFamily.INET6, new InetSocketAddress(Frame.ofText("::"), UDP6_PORT));
        bindServer(new InetSocketAddress(Frame.ofText("0.0.0.0"), TCP4_PORT));
        bindServer(new InetSocketAddress(Frame.ofText("::"), TCP6_PORT));
    }

    private <T> T onLoop(Callable<T> task) throws Exception {
        return group.next().submit(task).get(30, TimeUnit.SECONDS);
    }

    private DatagramChannel bindDatagrams(SocketProtocolFamily family, InetSocketAddress local)
            throws Exception {
        ChannelFuture bound = onLoop(() -> {
            Bootstrap bootstrap = new Bootstrap().group(group).channelFactory(() -> datagrams.apply(family))
                    .option(ChannelOption.SO_BROADCAST, true).option(ChannelOption.SO_RCVBUF, 1 << 20)
                    .handler(new DatagramEcho());
            return bootstrap.bind(local);
        });
        return (DatagramChannel) bound.sync().channel();
    }

    private void bindServer(InetSocketAddress local) throws Exception {
        onLoop(() -> new ServerBootstrap().group(group).channelFactory(servers::get)
                .childHandler(new StreamEcho()).bind(local)).sync();
    }

    /** Sends a datagram with the number of a probe. */
    void send(int id, InetSocketAddress remote, boolean ipv6, int payloadBytes) {
        group.next().execute(() -> {
            ByteBuf payload = Unpooled.buffer(payloadBytes).writeInt(MAGIC).writeInt(id);
            payload.writeZero(payloadBytes - payload.readableBytes());
            (ipv6 ? udp6 : udp4).writeAndFlush(new DatagramPacket(payload, remote))
                    .addListener(future -> outcomes.put(id, outcome(future.cause())));
        });
    }

    /** Opens a connection to a port that is the number of a probe. */
    void connect(int id, InetSocketAddress remote, InetSocketAddress localOrNull) {
        group.next().execute(() -> {
            Bootstrap bootstrap = new Bootstrap().group(group).channelFactory(clients::get).handler(IDLE);
            ChannelFuture future = localOrNull == null ? bootstrap.connect(remote)
                    : bootstrap.connect(remote, localOrNull);
            connecting.put(id, future);
            future.addListener(done -> outcomes.put(id, outcome(done.cause())));
        });
    }

    /** Closes the channel of a {@link #connect} call. */
    void giveUp(int id) {
        ChannelFuture future = connecting.remove(id);
        if (future != null) {
            future.channel().close();
        }
    }

    private static String outcome(Throwable causeOrNull) {
        return causeOrNull == null ? "none" : Errors.describe(causeOrNull);
    }

    /** Returns the sender of a probe that was delivered to the program, or null. */
    String delivered(int id) {
        return delivered.get(id);
    }

    /** Returns the result of an operation: "none" if successful, an error, or null while it is in progress. */
    String outcome(int id) {
        return outcomes.get(id);
    }

    /** Forgets the last delivery of a probe that continues. */
    void forgetDelivery(int id) {
        delivered.remove(id);
    }

    /** Forgets all probes. */
    void forget() {
        delivered.clear();
        outcomes.clear();
        connecting.values().forEach(future -> future.channel().close());
        connecting.clear();
    }

    /** Returns whether the TCP stack of the device has a connection with a peer, including half-open ones. */
    boolean hasConnectionOf(InetAddress peer) {
        return deviceOrNull != null && RdmaRawMetrics.loops().stream().flatMap(loop -> loop.queues().stream())
                .filter(queue -> queue.deviceName().equals(deviceOrNull)).map(queue -> queue.channels().get("tcp"))
                .filter(RdmaRawTcpStatistics.class::isInstance).map(RdmaRawTcpStatistics.class::cast)
                .flatMap(tcp -> tcp.sockets(Short.MAX_VALUE).join().connections().stream())
                .anyMatch(connection -> connection.remote().getAddress().equals(peer));
    }

    /** Waits until the loop has executed all tasks that are queued now. */
    void awaitTasks() {
        group.next().submit(() -> { }).syncUninterruptibly();
    }

    @Override
    public void close() {
        group.shutdownGracefully(0, 5, TimeUnit.SECONDS).awaitUninterruptibly(20, TimeUnit.SECONDS);
    }

    private static String text(InetSocketAddress address) {
        return address.getAddress().getHostAddress();
    }

    /** Echoes datagrams. */
    private final class DatagramEcho extends SimpleChannelInboundHandler<DatagramPacket> {
        @Override
        protected void channelRead0(ChannelHandlerContext ctx, DatagramPacket packet) {
            ByteBuf content = packet.content();
            if (content.readableBytes() < 8 || content.getInt(content.readerIndex()) != MAGIC) {
                return;
            }
            int id = content.getInt(content.readerIndex() + 4);
            delivered.put(id, text(packet.sender()));
            ctx.writeAndFlush(new DatagramPacket(content.retain(), packet.sender()))
                    .addListener(future -> outcomes.put(id, outcome(future.cause())));
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
            // Ignore ICMP errors caused by earlier replies.
        }
    }

    /** Echoes the data of connections. The port of the peer is the number of the probe. */
    private final class StreamEcho extends io.netty.channel.ChannelInitializer<Channel> {
        @Override
        protected void initChannel(Channel channel) {
            channel.pipeline().addLast(new ChannelInboundHandlerAdapter() {
                @Override
                public void channelRead(ChannelHandlerContext ctx, Object message) {
                    InetSocketAddress remote = (InetSocketAddress) ctx.channel().remoteAddress();
                    delivered.put(remote.getPort(), text(remote));
                    ctx.writeAndFlush(message);
                }

                @Override
                public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
                    ctx.close();
                }
            });
        }
    }

    @ChannelHandler.Sharable
    private static final class Idle extends ChannelInboundHandlerAdapter {
        @Override
        public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
            ctx.close();
        }
    }

    /** Returns the payload of a datagram for a probe. */
    static byte[] payload(int id, int payloadBytes) {
        return ByteBuffer.allocate(Math.max(8, payloadBytes)).putInt(MAGIC).putInt(id).array();
    }

    /** Returns the number of the probe in a payload, or -1. */
    static int probeOf(byte[] payload) {
        ByteBuffer bytes = ByteBuffer.wrap(payload);
        return payload.length < 8 || bytes.getInt(0) != MAGIC ? -1 : bytes.getInt(4);
    }
}
