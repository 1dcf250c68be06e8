package io.rdmaraw.testsuite.tcp;

import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.util.CharsetUtil;
import io.rdmaraw.channel.RdmaRawEventLoopGroup;
import io.rdmaraw.channel.RdmaRawIoHandlerConfig;
import io.rdmaraw.channel.RdmaRawSocketChannel;
import io.rdmaraw.testsuite.leak.LeakExtension;
import io.rdmaraw.testsuite.net.Await;
import io.rdmaraw.testsuite.net.TestNetwork;
import io.rdmaraw.testsuite.net.VethPair;
import io.rdmaraw.testsuite.net.WithTestNetwork;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

import java.io.IOException;
import java.io.InputStream;
import java.net.BindException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

/** Opens connections from a host with a small range of ephemeral ports. */
@Timeout(120)
@WithTestNetwork
@ExtendWith(LeakExtension.class)
class OutboundPortsOverVethTest {
    private static final int PORTS = 10;
    private static final int LIMIT_SECONDS = 30;

    private VethPair pair;
    private RdmaRawEventLoopGroup group;

    /** Collects received data. */
    private static final class Texts extends ChannelInboundHandlerAdapter {
        private final BlockingQueue<String> received = new LinkedBlockingQueue<>();

        @Override
        public void channelRead(ChannelHandlerContext ctx, Object msg) {
            received.add(((ByteBuf) msg).toString(CharsetUtil.US_ASCII));
            ((ByteBuf) msg).release();
        }
    }

    @BeforeEach
    void open(TestNetwork network) {
        pair = network.vethPair(network.namespace(), network.namespace());
        pair.ours().namespace().run("sysctl", "-qw", "net.ipv4.ip_local_port_range=40000 " + (40_000 + PORTS - 1));
        group = new RdmaRawEventLoopGroup(1, pair.ours().namespace().threadFactory(),
                RdmaRawIoHandlerConfig.builder().device("soft:xdp:" + pair.ours().name()).build());
    }

    @AfterEach
    void close() {
        group.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
    }

    private ServerSocket echoServer() throws Exception {
        ServerSocket server = pair.peer().namespace().call(() -> new ServerSocket(0, 50,
                InetAddress.ofLiteral(pair.peer().ipv4())));
        Thread.ofPlatform().daemon().start(() -> {
            while (!server.isClosed()) {
                try {
                    Socket socket = server.accept();
                    Thread.ofPlatform().daemon().start(() -> echo(socket));
                } catch (IOException e) {
                    // The test has ended.
                }
            }
        });
        return server;
    }

    private static void echo(Socket socket) {
        try (socket; InputStream in = socket.getInputStream()) {
            in.transferTo(socket.getOutputStream());
        } catch (IOException e) {
            // The client has closed or the test has ended.
        }
    }

    private Bootstrap client(Texts texts) {
        return new Bootstrap().group(group).channel(RdmaRawSocketChannel.class).handler(texts);
    }

    private static InetSocketAddress addressOf(ServerSocket server) {
        return new InetSocketAddress(server.getInetAddress(), server.getLocalPort());
    }

    private List<Channel> openAll(ServerSocket server) throws InterruptedException {
        List<Channel> opened = new ArrayList<>();
        Set<Integer> ports = new HashSet<>();
        for (int i = 0; i < PORTS; i++) {
            Channel channel = client(new Texts()).connect(addressOf(server)).sync().channel();
            assertTrue(ports.add(((InetSocketAddress) channel.localAddress()).getPort()));
            opened.add(channel);
        }
        return opened;
    }

    private static void exchange(List<Channel> channels, String name) throws InterruptedException {
        for (int i = 0; i < channels.size(); i++) {
            String text = name + i;
            channels.get(i).writeAndFlush(Unpooled.copiedBuffer(text, CharsetUtil.US_ASCII)).sync();
            assertEquals(text, channels.get(i).pipeline().get(Texts.class).received.poll(LIMIT_SECONDS,
                    TimeUnit.SECONDS));
        }
    }

    @Test
    void connectionsToDifferentPeersSharePorts() throws Exception {
        try (ServerSocket first = echoServer(); ServerSocket second = echoServer()) {
            List<Channel> toFirst = openAll(first);
            List<Channel> toSecond = openAll(second);
            exchange(toFirst, "first");
            exchange(toSecond, "second");
            Throwable refused = client(new Texts()).connect(addressOf(first)).await().cause();
            assertTrue(refused instanceof IOException, String.valueOf(refused));
            // Closing the first peer's connections does not affect the second peer's connections.
            for (Channel channel : toFirst) {
                channel.close().sync();
            }
            exchange(toSecond, "again");
            // The ports are in TIME-WAIT. They can be reused once the timestamps distinguish the connections.
            List<Channel> opened = new ArrayList<>();
            Await.until("a port to be there again", Duration.ofSeconds(LIMIT_SECONDS), () -> {
                var attempt = client(new Texts()).connect(addressOf(first)).awaitUninterruptibly();
                if (attempt.isSuccess()) {
                    opened.add(attempt.channel());
                }
                return attempt.isSuccess();
            });
            exchange(opened, "reopened");
            exchange(toSecond, "still");
        }
    }

    /** The kernel's sockets, too, find the port taken. */
    @Test
    void boundPortIsKeptFromTheKernelAndUsedToConnect() throws Exception {
        Channel bound = client(new Texts()).bind(new InetSocketAddress(pair.ours().ipv4(), 0)).sync().channel();
        InetSocketAddress local = (InetSocketAddress) bound.localAddress();
        assertThrows(BindException.class, () -> pair.ours().namespace().call(
                () -> new ServerSocket(local.getPort(), 1, local.getAddress())));
        try (ServerSocket server = echoServer()) {
            bound.connect(addressOf(server)).sync();
            assertEquals(local, bound.localAddress());
            exchange(List.of(bound), "bound");
        }
    }
}
