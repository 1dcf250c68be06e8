package io.rdmaraw.testsuite.socket;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFactory;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.socket.SocketProtocolFamily;
import io.netty.testsuite.transport.TestsuitePermutation.BootstrapComboFactory;
import io.netty.testsuite.transport.TestsuitePermutation.BootstrapFactory;
import io.netty.testsuite.transport.socket.SocketTestPermutation;
import io.netty.util.concurrent.DefaultThreadFactory;
import io.rdmaraw.channel.RdmaRawDatagramChannel;
import io.rdmaraw.channel.RdmaRawEventLoopGroup;
import io.rdmaraw.channel.RdmaRawIoHandlerConfig;
import io.rdmaraw.channel.RdmaRawServerSocketChannel;
import io.rdmaraw.channel.RdmaRawSocketChannel;

import java.util.List;

/** The channels that Netty's testsuite is run with: this transport's, with one another, on the loop device. */
final class RdmaRawSocketTestPermutation extends SocketTestPermutation {
    private static final int LOOPS = 3;
    static final RdmaRawSocketTestPermutation INSTANCE = new RdmaRawSocketTestPermutation();

    private final EventLoopGroup group = new RdmaRawEventLoopGroup(LOOPS,
            new DefaultThreadFactory("testsuite-rdma-raw-worker", true), RdmaRawIoHandlerConfig.defaults());

    @Override
    public List<BootstrapComboFactory<Bootstrap, Bootstrap>> datagram(SocketProtocolFamily family) {
        List<BootstrapFactory<Bootstrap>> ours = List.of(() -> new Bootstrap().group(group)
                .channelFactory(new ChannelFactory<Channel>() {
                    @Override
                    public Channel newChannel() {
                        return new RdmaRawDatagramChannel(family);
                    }

                    @Override
                    public String toString() {
                        return "RdmaRawDatagramChannel.class";
                    }
                }));
        return combo(ours, ours);
    }

    @Override
    public List<BootstrapFactory<Bootstrap>> datagramSocket() {
        return List.of(() -> new Bootstrap().group(group).channel(RdmaRawDatagramChannel.class));
    }

    @Override
    public List<BootstrapComboFactory<ServerBootstrap, Bootstrap>> socket() {
        return combo(serverSocket(), clientSocket());
    }

    @Override
    public List<BootstrapFactory<ServerBootstrap>> serverSocket() {
        return List.of(() -> new ServerBootstrap().group(group).channel(RdmaRawServerSocketChannel.class));
    }

    @Override
    public List<BootstrapFactory<Bootstrap>> clientSocket() {
        return List.of(() -> new Bootstrap().group(group).channel(RdmaRawSocketChannel.class));
    }
}
