package io.rdmaraw.testsuite.tcp;

import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.rdmaraw.channel.RdmaRawChannelOption;
import io.rdmaraw.channel.RdmaRawEventLoopGroup;
import io.rdmaraw.channel.RdmaRawIoHandlerConfig;
import io.rdmaraw.channel.RdmaRawSocketChannel;
import io.rdmaraw.testsuite.leak.LeakExtension;
import io.rdmaraw.testsuite.net.NetworkNamespace;
import io.rdmaraw.testsuite.net.TestNetwork;
import io.rdmaraw.testsuite.net.VethPair;
import io.rdmaraw.testsuite.net.WithTestNetwork;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NoRouteToHostException;
import java.net.ServerSocket;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

/** A connection that ends because its peer is unreachable reports this as the cause (RFC 1122 section 4.2.3.9). */
@Timeout(60)
@WithTestNetwork
@ExtendWith(LeakExtension.class)
class SoftErrorsOverVethTest {
    private static final class Failure extends ChannelInboundHandlerAdapter {
        private final CompletableFuture<Throwable> cause = new CompletableFuture<>();

        @Override
        public void exceptionCaught(ChannelHandlerContext ctx, Throwable failure) {
            cause.complete(failure);
        }

        @Override
        public void channelInactive(ChannelHandlerContext ctx) {
            cause.completeExceptionally(new AssertionError("the connection ended without a cause"));
        }
    }

    @ParameterizedTest
    @CsvSource({"unreachable, host unreachable", "prohibit, filter"})
    void timeoutReportsTheRoutersError(String kind, String said, TestNetwork network) throws Exception {
        NetworkNamespace host = network.namespace();
        NetworkNamespace router = network.namespace();
        VethPair pair = network.vethPair(host, router);
        VethPair far = network.vethPair(router, network.namespace());
        router.run("sysctl", "-qw", "net.ipv4.ip_forward=1");
        far.peer().namespace().run("ip", "route", "add", pair.ours().ipv4(), "via", far.ours().ipv4());
        host.run("ip", "route", "add", far.peer().ipv4(), "via", pair.peer().ipv4());
        RdmaRawEventLoopGroup group = new RdmaRawEventLoopGroup(1, host.threadFactory(), RdmaRawIoHandlerConfig
                .builder().device("soft:xdp:" + pair.ours().name()).build());
        Failure failure = new Failure();
        try (ServerSocket server = far.peer().namespace().call(() ->
                new ServerSocket(0, 1, InetAddress.ofLiteral(far.peer().ipv4())))) {
            Channel client = new Bootstrap().group(group).channel(RdmaRawSocketChannel.class).handler(failure)
                    .option(RdmaRawChannelOption.TCP_USER_TIMEOUT, 1000)
                    .connect(new InetSocketAddress(server.getInetAddress(), server.getLocalPort())).sync().channel();
            router.run("ip", "route", "add", kind, far.peer().ipv4());
            client.writeAndFlush(Unpooled.wrappedBuffer(new byte[10]));
            Throwable cause = failure.cause.get(30, TimeUnit.SECONDS);
            assertInstanceOf(NoRouteToHostException.class, cause);
            assertTrue(cause.getMessage().contains(said), cause::getMessage);
        } finally {
            group.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
        }
    }
}
