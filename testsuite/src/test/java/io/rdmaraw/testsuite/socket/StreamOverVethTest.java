package io.rdmaraw.testsuite.socket;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.testsuite.transport.TestsuitePermutation.BootstrapComboFactory;
import io.netty.testsuite.transport.TestsuitePermutation.BootstrapFactory;
import io.rdmaraw.channel.RdmaRawEventLoopGroup;
import io.rdmaraw.channel.RdmaRawIoHandlerConfig;
import io.rdmaraw.channel.RdmaRawServerSocketChannel;
import io.rdmaraw.channel.RdmaRawSocketChannel;
import io.rdmaraw.testsuite.leak.LeakExtension;
import io.rdmaraw.testsuite.net.TestNetwork;
import io.rdmaraw.testsuite.net.VethEnd;
import io.rdmaraw.testsuite.net.VethPair;
import io.rdmaraw.testsuite.net.WithTestNetwork;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.extension.ExtendWith;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;

/**
 * Runs Netty's tests of TCP channels over a veth pair, with this transport at one end and NIO in another namespace, in
 * both roles. All tests share the pair and the loops, like the tests of Netty's own transports.
 */
@WithTestNetwork
@ExtendWith(LeakExtension.class)
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class StreamOverVethTest extends AbstractStreamTest {
    private VethPair pair;
    private EventLoopGroup ours;
    private EventLoopGroup nio;
    private VethEnd server;

    @BeforeAll
    void open(TestNetwork network) {
        pair = network.vethPair();
        ours = new RdmaRawEventLoopGroup(2, network.current().threadFactory(),
                RdmaRawIoHandlerConfig.builder().device(provider() + pair.ours().name()).build());
        nio = new MultiThreadIoEventLoopGroup(2, pair.peer().namespace().threadFactory(), NioIoHandler.newFactory());
    }

    @AfterAll
    void close() {
        ours.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
        nio.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
    }

    /** Returns the prefix of the device name; the interface's name follows it. */
    String provider() {
        return "soft:packet:";
    }

    @Override
    List<BootstrapComboFactory<ServerBootstrap, Bootstrap>> combos() {
        return List.of(
                combo(pair.ours(),
                        () -> new ServerBootstrap().group(ours).channel(RdmaRawServerSocketChannel.class),
                        () -> new Bootstrap().group(nio).channelFactory(() -> inPeer(NioSocketChannel::new))),
                combo(pair.peer(),
                        () -> new ServerBootstrap().group(nio)
                                .channelFactory(() -> inPeer(NioServerSocketChannel::new)),
                        () -> new Bootstrap().group(ours).channel(RdmaRawSocketChannel.class)));
    }

    /** Opens a socket in the peer's namespace. A socket belongs to the namespace of the thread that opens it. */
    private <T> T inPeer(Callable<T> opening) {
        try {
            return pair.peer().namespace().call(opening);
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    private BootstrapComboFactory<ServerBootstrap, Bootstrap> combo(VethEnd serverEnd,
            BootstrapFactory<ServerBootstrap> servers, BootstrapFactory<Bootstrap> clients) {
        return new BootstrapComboFactory<>() {
            @Override
            public ServerBootstrap newServerInstance() {
                server = serverEnd;
                return servers.newInstance();
            }

            @Override
            public Bootstrap newClientInstance() {
                return clients.newInstance();
            }
        };
    }

    @Override
    SocketAddress address() {
        return new InetSocketAddress(InetAddress.ofLiteral(server.ipv4()), 0);
    }
}
