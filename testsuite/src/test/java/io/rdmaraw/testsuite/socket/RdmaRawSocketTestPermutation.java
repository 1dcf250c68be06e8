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
import io.netty.util.internal.SystemPropertyUtil;
import io.rdmaraw.channel.RdmaRawDatagramChannel;
import io.rdmaraw.channel.RdmaRawEventLoopGroup;
import io.rdmaraw.channel.RdmaRawIoHandlerConfig;
import io.rdmaraw.channel.RdmaRawServerSocketChannel;
import io.rdmaraw.channel.RdmaRawSocketChannel;
import io.rdmaraw.host.loopback.LoopbackHost;
import io.rdmaraw.net.IpAddress;
import io.rdmaraw.net.PortSharing;
import io.rdmaraw.verbs.DeviceName;
import io.rdmaraw.wire.IpProtocol;

import java.net.BindException;
import java.net.InetAddress;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/** The channels for Netty's testsuite: this transport at both ends, on the loop device. */
final class RdmaRawSocketTestPermutation extends SocketTestPermutation {
    private static final int LOOPS = 3;
    static final RdmaRawSocketTestPermutation INSTANCE = new RdmaRawSocketTestPermutation();

    private EventLoopGroup group;
    private EventLoopGroup clients;

    private RdmaRawSocketTestPermutation() {
        addAddressThatNeverAnswers();
    }

    /**
     * Adds an address that never replies at one port. On the loop device no packet is lost, so tests of timeouts need
     * it.
     */
    private static void addAddressThatNeverAnswers() {
        LoopbackHost host = LoopbackHost.of(DeviceName.HOST_LOOPBACK);
        // The superclass has the same values but does not expose them.
        String badHost = SystemPropertyUtil.get("io.netty.testsuite.badHost", "198.51.100.254");
        int badPort = SystemPropertyUtil.getInt("io.netty.testsuite.badPort", 65535);
        IpAddress address = IpAddress.of(InetAddress.ofLiteral(badHost));
        host.addAddress(address);
        try {
            host.ports().bind(IpProtocol.TCP, LoopbackHost.newMac(), address, false, badPort, PortSharing.NONE, null);
        } catch (BindException e) {
            throw new IllegalStateException(e);
        }
    }

    private synchronized EventLoopGroup group() {
        group = group == null ? newGroup("testsuite-rdma-raw-worker") : group;
        return group;
    }

    /** Some handlers of the suite block until the other end has acted, so clients use separate loops. */
    private synchronized EventLoopGroup clients() {
        clients = clients == null ? newGroup("testsuite-rdma-raw-client") : clients;
        return clients;
    }

    private static EventLoopGroup newGroup(String threads) {
        return new RdmaRawEventLoopGroup(LOOPS, new DefaultThreadFactory(threads, true),
                RdmaRawIoHandlerConfig.defaults());
    }

    /** Shuts down the loops. Later tests get new ones. */
    synchronized void shutDown() {
        Stream.of(group, clients).filter(Objects::nonNull)
                .forEach(each -> each.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly());
        group = null;
        clients = null;
    }

    @Override
    public List<BootstrapComboFactory<Bootstrap, Bootstrap>> datagram(SocketProtocolFamily family) {
        List<BootstrapFactory<Bootstrap>> ours = List.of(() -> new Bootstrap().group(group())
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
        return List.of(() -> new Bootstrap().group(group()).channel(RdmaRawDatagramChannel.class));
    }

    @Override
    public List<BootstrapComboFactory<ServerBootstrap, Bootstrap>> socket() {
        return combo(serverSocket(), clientSocket());
    }

    @Override
    public List<BootstrapFactory<ServerBootstrap>> serverSocket() {
        return List.of(() -> new ServerBootstrap().group(group()).channel(RdmaRawServerSocketChannel.class));
    }

    @Override
    public List<BootstrapFactory<Bootstrap>> clientSocket() {
        return List.of(() -> new Bootstrap().group(clients()).channel(RdmaRawSocketChannel.class));
    }
}
