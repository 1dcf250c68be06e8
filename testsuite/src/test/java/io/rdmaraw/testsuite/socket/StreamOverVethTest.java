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
import io.netty.testsuite.transport.socket.CompositeBufferGatheringWriteTest;
import io.netty.testsuite.transport.socket.SocketAutoReadTest;
import io.netty.testsuite.transport.socket.SocketBufReleaseTest;
import io.netty.testsuite.transport.socket.SocketCancelWriteTest;
import io.netty.testsuite.transport.socket.SocketCloseForciblyTest;
import io.netty.testsuite.transport.socket.SocketConditionalWritabilityTest;
import io.netty.testsuite.transport.socket.SocketConnectTest;
import io.netty.testsuite.transport.socket.SocketDataReadInitialStateTest;
import io.netty.testsuite.transport.socket.SocketEchoTest;
import io.netty.testsuite.transport.socket.SocketExceptionHandlingTest;
import io.netty.testsuite.transport.socket.SocketFileRegionTest;
import io.netty.testsuite.transport.socket.SocketFixedLengthEchoTest;
import io.netty.testsuite.transport.socket.SocketGatheringWriteTest;
import io.netty.testsuite.transport.socket.SocketHalfClosedTest;
import io.netty.testsuite.transport.socket.SocketObjectEchoTest;
import io.netty.testsuite.transport.socket.SocketReadPendingTest;
import io.netty.testsuite.transport.socket.SocketRstTest;
import io.netty.testsuite.transport.socket.SocketSpdyEchoTest;
import io.netty.testsuite.transport.socket.SocketSslEchoTest;
import io.netty.testsuite.transport.socket.SocketSslGreetingTest;
import io.netty.testsuite.transport.socket.SocketStartTlsTest;
import io.netty.testsuite.transport.socket.SocketStringEchoTest;
import io.rdmaraw.channel.RdmaRawEventLoopGroup;
import io.rdmaraw.channel.RdmaRawIoHandlerConfig;
import io.rdmaraw.channel.RdmaRawServerSocketChannel;
import io.rdmaraw.channel.RdmaRawSocketChannel;
import io.rdmaraw.testsuite.net.NetworkExtension;
import io.rdmaraw.testsuite.net.TestNetwork;
import io.rdmaraw.testsuite.net.VethEnd;
import io.rdmaraw.testsuite.net.VethPair;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.extension.ExtendWith;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;

/** Netty's own tests of TCP channels over a veth pair: this transport with NIO in another namespace, both ways. */
@ExtendWith(NetworkExtension.class)
class StreamOverVethTest {
    private VethPair pair;
    private EventLoopGroup ours;
    private EventLoopGroup nio;
    private VethEnd server;

    @BeforeEach
    void open(TestNetwork network) {
        pair = network.vethPair();
        ours = new RdmaRawEventLoopGroup(2, network.current().threadFactory(),
                RdmaRawIoHandlerConfig.builder().ipDevice(provider() + pair.ours().name()).build());
        nio = new MultiThreadIoEventLoopGroup(2, pair.peer().namespace().threadFactory(), NioIoHandler.newFactory());
    }

    @AfterEach
    void close() {
        ours.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
        nio.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
    }

    /** How the device is reached; followed by the interface's name. */
    String provider() {
        return "soft:packet:";
    }

    private List<BootstrapComboFactory<ServerBootstrap, Bootstrap>> combos() {
        return List.of(
                combo(pair.ours(),
                        () -> new ServerBootstrap().group(ours).channel(RdmaRawServerSocketChannel.class),
                        () -> new Bootstrap().group(nio).channelFactory(() -> inPeer(NioSocketChannel::new))),
                combo(pair.peer(),
                        () -> new ServerBootstrap().group(nio)
                                .channelFactory(() -> inPeer(NioServerSocketChannel::new)),
                        () -> new Bootstrap().group(ours).channel(RdmaRawSocketChannel.class)));
    }

    /** A socket belongs to the namespace of the thread that opens it. */
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

    private SocketAddress address() {
        return new InetSocketAddress(InetAddress.ofLiteral(server.ipv4()), 0);
    }

    @Nested
    class CompositeBufferGatheringWrite extends CompositeBufferGatheringWriteTest {
        @Override
        protected List<BootstrapComboFactory<ServerBootstrap, Bootstrap>> newFactories() {
            return combos();
        }

        @Override
        protected SocketAddress newSocketAddress() {
            return address();
        }
    }

    @Nested
    class AutoRead extends SocketAutoReadTest {
        @Override
        protected List<BootstrapComboFactory<ServerBootstrap, Bootstrap>> newFactories() {
            return combos();
        }

        @Override
        protected SocketAddress newSocketAddress() {
            return address();
        }
    }

    @Nested
    class BufRelease extends SocketBufReleaseTest {
        @Override
        protected List<BootstrapComboFactory<ServerBootstrap, Bootstrap>> newFactories() {
            return combos();
        }

        @Override
        protected SocketAddress newSocketAddress() {
            return address();
        }
    }

    @Nested
    class CancelWrite extends SocketCancelWriteTest {
        @Override
        protected List<BootstrapComboFactory<ServerBootstrap, Bootstrap>> newFactories() {
            return combos();
        }

        @Override
        protected SocketAddress newSocketAddress() {
            return address();
        }
    }

    @Nested
    class CloseForcibly extends SocketCloseForciblyTest {
        @Override
        protected List<BootstrapComboFactory<ServerBootstrap, Bootstrap>> newFactories() {
            return combos();
        }

        @Override
        protected SocketAddress newSocketAddress() {
            return address();
        }
    }

    @Nested
    class ConditionalWritability extends SocketConditionalWritabilityTest {
        @Override
        protected List<BootstrapComboFactory<ServerBootstrap, Bootstrap>> newFactories() {
            return combos();
        }

        @Override
        protected SocketAddress newSocketAddress() {
            return address();
        }
    }

    @Nested
    class Connect extends SocketConnectTest {
        @Override
        protected List<BootstrapComboFactory<ServerBootstrap, Bootstrap>> newFactories() {
            return combos();
        }

        @Override
        protected SocketAddress newSocketAddress() {
            return address();
        }
    }

    @Nested
    class DataReadInitialState extends SocketDataReadInitialStateTest {
        @Override
        protected List<BootstrapComboFactory<ServerBootstrap, Bootstrap>> newFactories() {
            return combos();
        }

        @Override
        protected SocketAddress newSocketAddress() {
            return address();
        }
    }

    @Nested
    class Echo extends SocketEchoTest {
        @Override
        protected List<BootstrapComboFactory<ServerBootstrap, Bootstrap>> newFactories() {
            return combos();
        }

        @Override
        protected SocketAddress newSocketAddress() {
            return address();
        }
    }

    @Nested
    class ExceptionHandling extends SocketExceptionHandlingTest {
        @Override
        protected List<BootstrapComboFactory<ServerBootstrap, Bootstrap>> newFactories() {
            return combos();
        }

        @Override
        protected SocketAddress newSocketAddress() {
            return address();
        }
    }

    @Nested
    class FileRegion extends SocketFileRegionTest {
        @Override
        protected List<BootstrapComboFactory<ServerBootstrap, Bootstrap>> newFactories() {
            return combos();
        }

        @Override
        protected SocketAddress newSocketAddress() {
            return address();
        }
    }

    @Nested
    class FixedLengthEcho extends SocketFixedLengthEchoTest {
        @Override
        protected List<BootstrapComboFactory<ServerBootstrap, Bootstrap>> newFactories() {
            return combos();
        }

        @Override
        protected SocketAddress newSocketAddress() {
            return address();
        }
    }

    @Nested
    class GatheringWrite extends SocketGatheringWriteTest {
        @Override
        protected List<BootstrapComboFactory<ServerBootstrap, Bootstrap>> newFactories() {
            return combos();
        }

        @Override
        protected SocketAddress newSocketAddress() {
            return address();
        }
    }

    @Nested
    class HalfClosed extends SocketHalfClosedTest {
        @Override
        protected List<BootstrapComboFactory<ServerBootstrap, Bootstrap>> newFactories() {
            return combos();
        }

        @Override
        protected SocketAddress newSocketAddress() {
            return address();
        }
    }

    @Nested
    class ObjectEcho extends SocketObjectEchoTest {
        @Override
        protected List<BootstrapComboFactory<ServerBootstrap, Bootstrap>> newFactories() {
            return combos();
        }

        @Override
        protected SocketAddress newSocketAddress() {
            return address();
        }
    }

    @Nested
    class ReadPending extends SocketReadPendingTest {
        @Override
        protected List<BootstrapComboFactory<ServerBootstrap, Bootstrap>> newFactories() {
            return combos();
        }

        @Override
        protected SocketAddress newSocketAddress() {
            return address();
        }
    }

    @Nested
    class Rst extends SocketRstTest {
        @Override
        protected List<BootstrapComboFactory<ServerBootstrap, Bootstrap>> newFactories() {
            return combos();
        }

        @Override
        protected SocketAddress newSocketAddress() {
            return address();
        }
    }

    @Nested
    class SpdyEcho extends SocketSpdyEchoTest {
        @Override
        protected List<BootstrapComboFactory<ServerBootstrap, Bootstrap>> newFactories() {
            return combos();
        }

        @Override
        protected SocketAddress newSocketAddress() {
            return address();
        }
    }

    @Nested
    class SslEcho extends SocketSslEchoTest {
        @Override
        protected List<BootstrapComboFactory<ServerBootstrap, Bootstrap>> newFactories() {
            return combos();
        }

        @Override
        protected SocketAddress newSocketAddress() {
            return address();
        }
    }

    @Nested
    class SslGreeting extends SocketSslGreetingTest {
        @Override
        protected List<BootstrapComboFactory<ServerBootstrap, Bootstrap>> newFactories() {
            return combos();
        }

        @Override
        protected SocketAddress newSocketAddress() {
            return address();
        }
    }

    @Nested
    class StartTls extends SocketStartTlsTest {
        @Override
        protected List<BootstrapComboFactory<ServerBootstrap, Bootstrap>> newFactories() {
            return combos();
        }

        @Override
        protected SocketAddress newSocketAddress() {
            return address();
        }
    }

    @Nested
    class StringEcho extends SocketStringEchoTest {
        @Override
        protected List<BootstrapComboFactory<ServerBootstrap, Bootstrap>> newFactories() {
            return combos();
        }

        @Override
        protected SocketAddress newSocketAddress() {
            return address();
        }
    }
}
