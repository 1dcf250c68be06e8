package io.rdmaraw.channel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.epoll.EpollChannelOption;
import io.netty.channel.socket.SocketChannelConfig;
import io.netty.channel.socket.nio.NioChannelOption;
import io.rdmaraw.kernel.KernelPort;
import io.rdmaraw.kernel.KernelStreamSocket;
import jdk.net.ExtendedSocketOptions;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketOption;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** If the device does not reach the peer, a channel's options are applied to the kernel socket that carries it. */
class RdmaRawSocketChannelKernelOptionsTest {
    private final RdmaRawSocketChannelConfig settings = new RdmaRawSocketChannel().config();
    private final KernelStreamSocket socket = KernelStreamSocket.open();
    private final SocketChannelConfig kernel = socket.config();

    @AfterEach
    void close() {
        socket.unsafe().closeForcibly();
    }

    private int get(SocketOption<Integer> option) {
        return kernel.getOption(NioChannelOption.of(option));
    }

    private <T> void set(ChannelOption<T> option, T value) {
        assertTrue(settings.setOption(option, value));
    }

    @Test
    void keepaliveOptionsAreApplied() {
        set(ChannelOption.SO_KEEPALIVE, true);
        set(RdmaRawChannelOption.TCP_KEEPIDLE, 77);
        set(RdmaRawChannelOption.TCP_KEEPINTVL, 7);
        set(RdmaRawChannelOption.TCP_KEEPCNT, 3);
        settings.applyTo(kernel);
        assertTrue(kernel.isKeepAlive());
        assertEquals(77, get(ExtendedSocketOptions.TCP_KEEPIDLE));
        assertEquals(7, get(ExtendedSocketOptions.TCP_KEEPINTERVAL));
        assertEquals(3, get(ExtendedSocketOptions.TCP_KEEPCOUNT));
        set(ChannelOption.SO_KEEPALIVE, false);
        settings.applyTo(kernel);
        assertFalse(kernel.isKeepAlive());
    }

    /** The options have the names of Netty's epoll transport, as set by a program that was written for it. */
    @Test
    void childrenAcceptEveryOptionOfTransport() throws Exception {
        BlockingQueue<Channel> children = new LinkedBlockingQueue<>();
        RdmaRawEventLoopGroup group = new RdmaRawEventLoopGroup(1, StreamFixture.config(LoopDevice.inMemory().name)
                .listensByDevice(local -> false).build());
        try (WarningsOf ours = new WarningsOf(KernelPort.class);
                WarningsOf ofBootstrap = new WarningsOf(ServerBootstrap.class)) {
            Channel server = new ServerBootstrap().group(group).channel(RdmaRawServerSocketChannel.class)
                    .childOption(EpollChannelOption.TCP_USER_TIMEOUT, 30_000)
                    .childOption(EpollChannelOption.TCP_KEEPIDLE, 66)
                    .childHandler(new ChannelInitializer<>() {
                        @Override
                        protected void initChannel(Channel channel) {
                            children.add(channel);
                        }
                    }).bind(new InetSocketAddress("127.0.0.1", 0)).sync().channel();
            InetSocketAddress address = (InetSocketAddress) server.localAddress();
            for (int i = 0; i < 3; i++) {
                try (Socket client = new Socket(address.getAddress(), address.getPort())) {
                    assertTrue(client.isConnected());
                    Channel child = children.poll(Patience.SECONDS, TimeUnit.SECONDS);
                    assertNotNull(child, "a connection by the kernel");
                    assertEquals(66, child.config().getOption(NioChannelOption.of(ExtendedSocketOptions.TCP_KEEPIDLE)));
                }
            }
            assertEquals(List.of(), ofBootstrap.messages());
            assertEquals(1, ours.messages().size(), () -> ours.messages().toString());
            assertTrue(ours.messages().getFirst().contains("TCP_USER_TIMEOUT"));
        } finally {
            group.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
        }
    }

    @Test
    void otherOptionsAreApplied() {
        set(ChannelOption.TCP_NODELAY, false);
        set(ChannelOption.SO_REUSEADDR, true);
        set(ChannelOption.IP_TOS, 0x28);
        set(ChannelOption.SO_SNDBUF, 20_000);
        set(ChannelOption.SO_RCVBUF, 30_000);
        settings.applyTo(kernel);
        assertFalse(kernel.isTcpNoDelay());
        assertTrue(kernel.isReuseAddress());
        assertEquals(0x28, kernel.getTrafficClass());
        assertEquals(20_000, kernel.getSendBufferSize());
        assertEquals(30_000, kernel.getReceiveBufferSize());
    }

    @Test
    void unsetOptionsKeepKernelDefaults() {
        int sendBytes = kernel.getSendBufferSize();
        int receiveBytes = kernel.getReceiveBufferSize();
        int idleSeconds = get(ExtendedSocketOptions.TCP_KEEPIDLE);
        settings.applyTo(kernel);
        assertTrue(kernel.isTcpNoDelay(), "the default of the channel");
        assertEquals(sendBytes, kernel.getSendBufferSize());
        assertEquals(receiveBytes, kernel.getReceiveBufferSize());
        assertEquals(idleSeconds, get(ExtendedSocketOptions.TCP_KEEPIDLE));
    }
}
