package io.rdmaraw.testsuite.socket;

import io.netty.bootstrap.Bootstrap;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.SocketProtocolFamily;
import io.netty.channel.socket.nio.NioDatagramChannel;
import io.netty.testsuite.transport.TestsuitePermutation.BootstrapComboFactory;
import io.netty.testsuite.transport.TestsuitePermutation.BootstrapFactory;
import io.netty.testsuite.transport.socket.DatagramUnicastInetTest;
import io.rdmaraw.channel.RdmaRawDatagramChannel;
import io.rdmaraw.channel.RdmaRawEventLoopGroup;
import io.rdmaraw.channel.RdmaRawIoHandlerConfig;
import io.rdmaraw.testsuite.net.NetworkExtension;
import io.rdmaraw.testsuite.net.TestNetwork;
import io.rdmaraw.testsuite.net.VethEnd;
import io.rdmaraw.testsuite.net.VethPair;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.extension.ExtendWith;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Netty's tests of datagrams over a veth pair: this transport with Netty's NIO in another namespace, both ways. */
@ExtendWith(NetworkExtension.class)
class DatagramUnicastOverVethTest extends DatagramUnicastInetTest {
    private VethPair pair;
    private EventLoopGroup ours;
    private EventLoopGroup nio;
    private VethEnd server;

    @BeforeEach
    void open(TestNetwork network) {
        pair = network.vethPair();
        // What neighbour discovery without a packet is sent from.
        network.current().run("ip", "-6", "addr", "add", "fe80::1/64", "dev", pair.ours().name(), "nodad");
        ours = new RdmaRawEventLoopGroup(2, network.current().threadFactory(),
                RdmaRawIoHandlerConfig.builder().ipDevice(provider() + pair.ours().name()).build());
        nio = new MultiThreadIoEventLoopGroup(2, pair.peer().namespace().threadFactory(), NioIoHandler.newFactory());
    }

    @AfterEach
    void close() {
        ours.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
        nio.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
    }

    @Override
    protected List<BootstrapComboFactory<Bootstrap, Bootstrap>> newFactories() {
        SocketProtocolFamily family = socketInternetProtocalFamily();
        BootstrapFactory<Bootstrap> oursFactory = () -> new Bootstrap().group(ours)
                .channelFactory(() -> new RdmaRawDatagramChannel(family));
        BootstrapFactory<Bootstrap> nioFactory = () -> new Bootstrap().group(nio).channelFactory(() -> nioChannel(family));
        return List.of(combo(pair.ours(), oursFactory, nioFactory), combo(pair.peer(), nioFactory, oursFactory));
    }

    private NioDatagramChannel nioChannel(SocketProtocolFamily family) {
        try {
            return pair.peer().namespace().call(() -> new NioDatagramChannel(family));
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    private BootstrapComboFactory<Bootstrap, Bootstrap> combo(VethEnd serverEnd, BootstrapFactory<Bootstrap> servers,
                                                              BootstrapFactory<Bootstrap> clients) {
        return new BootstrapComboFactory<>() {
            @Override
            public Bootstrap newServerInstance() {
                server = serverEnd;
                return servers.newInstance();
            }

            @Override
            public Bootstrap newClientInstance() {
                return clients.newInstance();
            }
        };
    }

    /** Either end binds to all of its addresses, as the test asks for one address for both. */
    @Override
    protected SocketAddress newSocketAddress() {
        return new InetSocketAddress(0);
    }

    @Override
    protected InetSocketAddress convertAnyAddress(InetSocketAddress serverAddress) {
        return new InetSocketAddress(InetAddress.ofLiteral(address(server)), serverAddress.getPort());
    }

    String address(VethEnd end) {
        return end.ipv4();
    }

    /** How the device is reached; followed by the interface's name. */
    String provider() {
        return "soft:packet:";
    }
}
