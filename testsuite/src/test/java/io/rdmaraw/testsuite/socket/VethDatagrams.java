package io.rdmaraw.testsuite.socket;

import io.netty.bootstrap.Bootstrap;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.SocketProtocolFamily;
import io.netty.channel.socket.nio.NioDatagramChannel;
import io.netty.testsuite.transport.TestsuitePermutation.BootstrapComboFactory;
import io.netty.testsuite.transport.TestsuitePermutation.BootstrapFactory;
import io.rdmaraw.channel.RdmaRawDatagramChannel;
import io.rdmaraw.channel.RdmaRawEventLoopGroup;
import io.rdmaraw.channel.RdmaRawIoHandlerConfig;
import io.rdmaraw.testsuite.net.TestNetwork;
import io.rdmaraw.testsuite.net.VethEnd;
import io.rdmaraw.testsuite.net.VethPair;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;

/** A veth pair with this transport at our end and Netty's NIO at the other, in another namespace. */
final class VethDatagrams implements AutoCloseable {
    final VethPair pair;
    private final EventLoopGroup ours;
    private final EventLoopGroup nio;
    private VethEnd server;

    /** @param provider prefix of the device name; the interface's name follows it */
    VethDatagrams(TestNetwork network, String provider) {
        pair = network.vethPair();
        // Solicitations that no packet triggers are sent from a link-local address.
        network.current().run("ip", "-6", "addr", "add", "fe80::1/64", "dev", pair.ours().name(), "nodad");
        ours = new RdmaRawEventLoopGroup(2, network.current().threadFactory(),
                RdmaRawIoHandlerConfig.builder().device(provider + pair.ours().name()).build());
        nio = new MultiThreadIoEventLoopGroup(2, pair.peer().namespace().threadFactory(), NioIoHandler.newFactory());
    }

    Bootstrap ours(SocketProtocolFamily family) {
        return new Bootstrap().group(ours).channelFactory(() -> new RdmaRawDatagramChannel(family));
    }

    private Bootstrap nio(SocketProtocolFamily family) {
        return new Bootstrap().group(nio).channelFactory(() -> {
            try {
                return pair.peer().namespace().call(() -> new NioDatagramChannel(family));
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        });
    }

    /** Returns two pairs: this transport as the server of an NIO client, and the reverse. */
    List<BootstrapComboFactory<Bootstrap, Bootstrap>> bothWays(SocketProtocolFamily servers,
                                                               SocketProtocolFamily clients) {
        return List.of(combo(pair.ours(), () -> ours(servers), () -> nio(clients)),
                combo(pair.peer(), () -> nio(servers), () -> ours(clients)));
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

    /** Returns the address at which a server bound to all addresses of its end can be reached. */
    InetSocketAddress reachable(InetSocketAddress bound, Function<VethEnd, String> address) {
        return new InetSocketAddress(InetAddress.ofLiteral(address.apply(server)), bound.getPort());
    }

    @Override
    public void close() {
        ours.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
        nio.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
    }
}
