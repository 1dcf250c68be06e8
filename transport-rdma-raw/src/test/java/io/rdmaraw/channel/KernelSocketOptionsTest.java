package io.rdmaraw.channel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelException;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.epoll.EpollChannelOption;
import io.netty.channel.unix.IntegerUnixChannelOption;
import io.netty.channel.unix.RawUnixChannelOption;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.net.BindException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** Options of the kernel's sockets behind channels: IP_FREEBIND and its like, and options by level and number. */
@Timeout(60)
class KernelSocketOptionsTest {
    /** RFC 5737: no host has this address. */
    private static final InetSocketAddress FOREIGN = new InetSocketAddress("192.0.2.77", 0);
    private static final int SOL_SOCKET = 1;
    private static final int IPPROTO_IP = 0;
    private static final int IPPROTO_TCP = 6;
    private static final ChannelOption<Integer> SO_PRIORITY =
            new IntegerUnixChannelOption("SO_PRIORITY", SOL_SOCKET, 12);
    private static final ChannelOption<ByteBuffer> SO_RCVTIMEO =
            new RawUnixChannelOption("SO_RCVTIMEO", SOL_SOCKET, 20, 16);
    private static final ChannelOption<Integer> UNKNOWN = new IntegerUnixChannelOption("UNKNOWN", SOL_SOCKET, 9999);

    private final RdmaRawEventLoopGroup group = new RdmaRawEventLoopGroup(1,
            StreamFixture.config(LoopDevice.inMemory().name).listensByDevice(local -> false)
                    .connectsByDevice(remote -> false).build());
    private final BlockingQueue<Channel> children = new LinkedBlockingQueue<>();

    @AfterEach
    void shutDown() {
        group.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
    }

    private ServerBootstrap server() {
        return new ServerBootstrap().group(group).channel(RdmaRawServerSocketChannel.class)
                .childHandler(new ChannelInitializer<>() {
                    @Override
                    protected void initChannel(Channel channel) {
                        children.add(channel);
                    }
                });
    }

    private Bootstrap client() {
        return new Bootstrap().group(group).channel(RdmaRawSocketChannel.class)
                .handler(new ChannelInboundHandlerAdapter());
    }

    private static Bootstrap datagrams(RdmaRawEventLoopGroup loops) {
        return new Bootstrap().group(loops).channel(RdmaRawDatagramChannel.class)
                .handler(new ChannelInboundHandlerAdapter());
    }

    @Test
    void serverBindsForeignAddressWithFreebind() throws Exception {
        assertInstanceOf(BindException.class, server().bind(FOREIGN).await().cause());
        Channel bound = server().option(EpollChannelOption.IP_FREEBIND, true).bind(FOREIGN).sync().channel();
        assertEquals(FOREIGN.getAddress(), ((InetSocketAddress) bound.localAddress()).getAddress());
    }

    /** The device's own stack permits it, too. */
    @Test
    void serverOfDeviceBindsForeignAddressWithFreebind() throws Exception {
        try (StreamFixture fixture = new StreamFixture(LoopDevice.inMemory(), 1, 1)) {
            ServerBootstrap server = new ServerBootstrap().group(fixture.servers)
                    .channel(RdmaRawServerSocketChannel.class).childHandler(new ChannelInboundHandlerAdapter());
            assertInstanceOf(BindException.class, server.bind(FOREIGN).await().cause());
            server.option(RdmaRawChannelOption.IP_FREEBIND, true).bind(FOREIGN).sync();
        }
    }

    @Test
    void datagramChannelBindsForeignAddressWithFreebind() throws Exception {
        RdmaRawEventLoopGroup kernelHost = new RdmaRawEventLoopGroup(1);
        try {
            assertInstanceOf(BindException.class, datagrams(kernelHost).bind(FOREIGN).await().cause());
            datagrams(kernelHost).option(EpollChannelOption.IP_FREEBIND, true).bind(FOREIGN).sync();
            datagrams(kernelHost).option(new IntegerUnixChannelOption("IP_FREEBIND", IPPROTO_IP, 15), 1)
                    .bind(FOREIGN).sync();
        } finally {
            kernelHost.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
        }
    }

    @Test
    void boundDatagramChannelSetsOptionsOnItsLoop() throws Exception {
        RdmaRawEventLoopGroup kernelHost = new RdmaRawEventLoopGroup(1);
        try {
            Channel channel = datagrams(kernelHost).option(SO_PRIORITY, 2).bind("127.0.0.1", 0).sync().channel();
            channel.eventLoop().submit(() -> channel.config().setOption(SO_PRIORITY, 3)).sync();
            assertEquals(3, channel.config().getOption(SO_PRIORITY));
            assertThrows(IllegalStateException.class, () -> channel.config().setOption(SO_PRIORITY, 4));
            assertEquals(3, channel.config().getOption(SO_PRIORITY));
        } finally {
            kernelHost.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
        }
    }

    @Test
    void childrenCarriedByKernelHaveOptionsByNumber() throws Exception {
        Channel server = server().childOption(SO_PRIORITY, 3).childOption(SO_RCVTIMEO, seconds(7))
                .bind("127.0.0.1", 0).sync().channel();
        InetSocketAddress address = (InetSocketAddress) server.localAddress();
        try (Socket socket = new Socket(address.getAddress(), address.getPort())) {
            assertTrue(socket.isConnected());
            Channel child = children.poll(Patience.SECONDS, TimeUnit.SECONDS);
            assertNotNull(child);
            assertEquals(3, child.config().getOption(SO_PRIORITY));
            assertEquals(7, child.config().getOption(SO_RCVTIMEO).order(ByteOrder.nativeOrder()).getLong(0));
            assertThrows(ChannelException.class, () -> child.config().setOption(UNKNOWN, 1));
            child.close().sync();
            assertThrows(ChannelException.class, () -> child.config().getOption(SO_PRIORITY));
        }
    }

    private static ByteBuffer seconds(long seconds) {
        return ByteBuffer.allocate(16).order(ByteOrder.nativeOrder()).putLong(0, seconds);
    }

    @Test
    void clientCarriedByKernelHasOptionsByNumber() throws Exception {
        try (ServerSocket server = new ServerSocket(0)) {
            InetSocketAddress address = new InetSocketAddress("127.0.0.1", server.getLocalPort());
            Channel channel = client().option(SO_PRIORITY, 3).connect(address).sync().channel();
            assertEquals(3, channel.config().getOption(SO_PRIORITY));
            assertTrue(channel.config().setOption(SO_PRIORITY, 4));
            assertThrows(ChannelException.class, () -> channel.config().setOption(UNKNOWN, 1));
            assertNull(channel.config().getOption(UNKNOWN));
            assertInstanceOf(SocketException.class,
                    client().option(UNKNOWN, 1).connect(address).await().cause());
        }
    }

    @Test
    void unknownOptionFailsBind() throws Exception {
        assertInstanceOf(SocketException.class,
                server().option(UNKNOWN, 1).bind("127.0.0.1", 0).await().cause());
    }

    @Test
    void portIsSelectedAtConnect() throws Exception {
        try (ServerSocket first = new ServerSocket(0); ServerSocket second = new ServerSocket(0)) {
            for (ServerSocket server : new ServerSocket[] {first, second}) {
                Channel channel = client().option(EpollChannelOption.IP_BIND_ADDRESS_NO_PORT, true)
                        .bind("127.0.0.1", 0).sync().channel();
                assertEquals(0, ((InetSocketAddress) channel.localAddress()).getPort());
                channel.connect(new InetSocketAddress("127.0.0.1", server.getLocalPort())).sync();
                assertTrue(((InetSocketAddress) channel.localAddress()).getPort() > 0);
            }
        }
    }

    @Test
    void portIsSelectedAtConnectOnDevice() throws Exception {
        try (StreamFixture fixture = new StreamFixture(LoopDevice.inMemory(), 1, 1)) {
            InetSocketAddress server = fixture.listen(new ChannelInboundHandlerAdapter());
            Channel channel = fixture.client(new ChannelInboundHandlerAdapter())
                    .option(RdmaRawChannelOption.IP_BIND_ADDRESS_NO_PORT, true)
                    .bind(new InetSocketAddress("127.0.0.1", 0)).sync().channel();
            assertEquals(0, ((InetSocketAddress) channel.localAddress()).getPort());
            channel.connect(server).sync();
            assertTrue(((InetSocketAddress) channel.localAddress()).getPort() > 0);
        }
    }

    @Test
    void transparentClientBindsForeignAddress() throws Exception {
        assertInstanceOf(BindException.class, client().bind(FOREIGN).await().cause());
        Channel channel = client().option(EpollChannelOption.IP_TRANSPARENT, true).bind(FOREIGN).sync().channel();
        assertEquals(FOREIGN, channel.localAddress());
    }

    /** The option of a number that the transport implements applies to the device's connections too. */
    @Test
    void numbersOfKnownOptionsSetThem() {
        RdmaRawSocketChannelConfig stream = new RdmaRawSocketChannel().config();
        stream.setOption(new IntegerUnixChannelOption("TCP_USER_TIMEOUT", IPPROTO_TCP, 18), 5000);
        assertEquals(5000, stream.getOption(RdmaRawChannelOption.TCP_USER_TIMEOUT));
        stream.setOption(new IntegerUnixChannelOption("TCP_NODELAY", IPPROTO_TCP, 1), 0);
        assertFalse(stream.getOption(ChannelOption.TCP_NODELAY));
        stream.setOption(new IntegerUnixChannelOption("TCP_NOTSENT_LOWAT", IPPROTO_TCP, 25), -1);
        assertEquals(0xffff_ffffL, stream.getOption(RdmaRawChannelOption.TCP_NOTSENT_LOWAT));
        assertEquals(-1, stream.getOption(new IntegerUnixChannelOption("TCP_NOTSENT_LOWAT", IPPROTO_TCP, 25)));
        RdmaRawServerSocketChannelConfig server = new RdmaRawServerSocketChannel().config();
        server.setOption(new IntegerUnixChannelOption("SO_REUSEPORT", SOL_SOCKET, 15), 1);
        assertTrue(server.isReusePort());
        assertNull(server.getOption(SO_PRIORITY));
        // A raw channel has no kernel socket.
        assertFalse(new RdmaRawChannel().config().setOption(SO_PRIORITY, 3));
    }
}
