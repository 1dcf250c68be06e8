package io.rdmaraw.testsuite.tcp;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandler.Sharable;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.util.CharsetUtil;
import io.rdmaraw.channel.RdmaRawEventLoopGroup;
import io.rdmaraw.channel.RdmaRawIoHandlerConfig;
import io.rdmaraw.channel.RdmaRawServerSocketChannel;
import io.rdmaraw.channel.RdmaRawSocketChannel;
import io.rdmaraw.testsuite.leak.LeakExtension;
import io.rdmaraw.testsuite.net.NetworkNamespace;
import io.rdmaraw.testsuite.net.TestNetwork;
import io.rdmaraw.testsuite.net.VethPair;
import io.rdmaraw.testsuite.net.WithTestNetwork;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;

import static org.junit.jupiter.api.Assertions.assertEquals;

/** Tests TCP Fast Open (RFC 7413) between this transport and the kernel. */
@Timeout(120)
@WithTestNetwork
@ExtendWith(LeakExtension.class)
class FastOpenOverVethTest {
    /** Value of net.ipv4.tcp_fastopen: enabled for clients, and for all servers even if they do not request it. */
    private static final int CLIENTS_AND_ALL_SERVERS = 0x1 | 0x2 | 0x400;
    private static final String RESPONSE = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello";

    private EventLoopGroup ours;

    @AfterEach
    void shutDown() {
        if (ours != null) {
            ours.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
        }
    }

    private VethPair open(TestNetwork network) {
        VethPair pair = network.vethPair(network.namespace(), network.namespace());
        pair.peer().namespace().run("sh", "-c",
                "echo " + CLIENTS_AND_ALL_SERVERS + " > /proc/sys/net/ipv4/tcp_fastopen");
        ours = new RdmaRawEventLoopGroup(1, pair.ours().namespace().threadFactory(),
                RdmaRawIoHandlerConfig.builder().device("soft:xdp:" + pair.ours().name()).build());
        return pair;
    }

    /** Returns a TcpExt counter of the kernel's end. */
    private static long kernelCount(VethPair pair, String name) {
        List<String[]> lines = pair.peer().namespace().run("cat", "/proc/net/netstat").output().lines()
                .filter(line -> line.startsWith("TcpExt:")).map(line -> line.split(" ")).toList();
        return Long.parseLong(lines.get(1)[Arrays.asList(lines.get(0)).indexOf(name)]);
    }

    /** Answers every request and closes the connection. */
    @Sharable
    private static final class Http extends ChannelInboundHandlerAdapter {
        @Override
        public void channelRead(ChannelHandlerContext ctx, Object msg) {
            ((ByteBuf) msg).release();
            ctx.writeAndFlush(Unpooled.copiedBuffer(RESPONSE, CharsetUtil.US_ASCII))
                    .addListener(ChannelFutureListener.CLOSE);
        }
    }

    @Test
    void kernelClientSendsDataInTheSyn(TestNetwork network) throws Exception {
        VethPair pair = open(network);
        Channel server = new ServerBootstrap().group(ours).channel(RdmaRawServerSocketChannel.class)
                .option(ChannelOption.TCP_FASTOPEN, 16).childHandler(new Http())
                .bind(new InetSocketAddress(InetAddress.ofLiteral(pair.ours().ipv4()), 0)).sync().channel();
        String url = "http://" + pair.ours().ipv4() + ':' + ((InetSocketAddress) server.localAddress()).getPort() + '/';
        for (int i = 0; i < 3; i++) {
            assertEquals("hello", pair.peer().namespace()
                    .run("curl", "--silent", "--show-error", "--tcp-fastopen", "--max-time", "20", url).output()
                    .strip());
        }
        assertEquals(2, kernelCount(pair, "TCPFastOpenActive"), "the kernel's SYNs whose data we have taken");
        assertEquals(0, kernelCount(pair, "TCPFastOpenActiveFail"));
    }

    @Test
    void kernelServerAcceptsDataInTheSyn(TestNetwork network) throws Exception {
        VethPair pair = open(network);
        NetworkNamespace peer = pair.peer().namespace();
        try (ServerSocket server = peer.call(() -> new ServerSocket(0, 10,
                InetAddress.ofLiteral(pair.peer().ipv4())))) {
            for (int i = 0; i < 3; i++) {
                exchange((InetSocketAddress) server.getLocalSocketAddress(), server);
            }
        }
        assertEquals(2, kernelCount(pair, "TCPFastOpenPassive"), "our SYNs whose data the kernel has taken");
        assertEquals(0, kernelCount(pair, "TCPFastOpenPassiveFail"));
        assertEquals(1, kernelCount(pair, "TCPFastOpenCookieReqd"));
    }

    private void exchange(InetSocketAddress at, ServerSocket server) throws Exception {
        Channel channel = new Bootstrap().group(ours).channel(RdmaRawSocketChannel.class)
                .option(ChannelOption.TCP_FASTOPEN_CONNECT, true).handler(new SimpleChannelInboundHandler<ByteBuf>() {
                    @Override
                    protected void channelRead0(ChannelHandlerContext ctx, ByteBuf msg) {
                        // The server sends no data.
                    }
                }).register().sync().channel();
        ChannelFuture written = channel.write(Unpooled.copiedBuffer("hello", CharsetUtil.US_ASCII));
        channel.connect(at).sync();
        written.sync();
        try (Socket socket = server.accept()) {
            socket.setSoTimeout(20_000);
            assertEquals("hello", new String(socket.getInputStream().readNBytes(5), StandardCharsets.US_ASCII));
            channel.close().sync();
            assertEquals(-1, socket.getInputStream().read());
        }
    }
}
