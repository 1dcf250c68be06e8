package io.rdmaraw.testsuite.socket;

import io.netty.bootstrap.Bootstrap;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.testsuite.transport.TestsuitePermutation.BootstrapComboFactory;
import io.netty.testsuite.transport.TestsuitePermutation.BootstrapFactory;
import io.rdmaraw.channel.RdmaRawEventLoopGroup;
import io.rdmaraw.channel.RdmaRawIoHandlerConfig;
import io.rdmaraw.queue.SharedDevice;
import io.rdmaraw.testsuite.net.NetworkNamespace;
import io.rdmaraw.testsuite.net.TestNetwork;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/**
 * An emulated ConnectX with a kernel interface, driven by the stock libibverbs and libmlx5 in one namespace, and a peer
 * kernel at the other end of its cable in another. As with a real card, the kernel receives the frames that match no
 * rule. A process can have only one: libibverbs creates the ends on its first use, in the namespace of the calling
 * thread.
 */
final class EmulatedCard implements AutoCloseable {
    private static final String DEVICE = "mlx5_0";
    private static final String INTERFACE = "emulated0";
    /** The peer's end of the cable, {@code tap:} in {@code CONNECTX_EMULATOR_WIRES}. */
    private static final String WIRE = "cxwire0";
    private static final String IPV4 = "10.77.0.1";
    private static final String IPV6 = "fd77::1";
    private static final String PEER_IPV4 = "10.77.0.2";
    private static final String PEER_IPV6 = "fd77::2";

    final EventLoopGroup ours;
    final EventLoopGroup nio;
    private final NetworkNamespace peer;
    private final SharedDevice device;
    private boolean serverIsOurs;

    EmulatedCard(TestNetwork network) throws Exception {
        NetworkNamespace host = network.namespace();
        peer = network.namespace();
        device = host.call(() -> SharedDevice.acquire(DEVICE));
        host.run("ip", "link", "set", "dev", WIRE, "netns", peer.name());
        configure(host, INTERFACE, IPV4, IPV6);
        configure(peer, WIRE, PEER_IPV4, PEER_IPV6);
        ours = new RdmaRawEventLoopGroup(2, host.threadFactory(),
                RdmaRawIoHandlerConfig.builder().device(DEVICE).build());
        nio = new MultiThreadIoEventLoopGroup(2, peer.threadFactory(), NioIoHandler.newFactory());
    }

    private static void configure(NetworkNamespace namespace, String name, String ipv4, String ipv6) {
        namespace.run("ip", "addr", "add", ipv4 + "/24", "dev", name);
        namespace.run("ip", "-6", "addr", "add", ipv6 + "/64", "dev", name, "nodad");
        // Solicitations that no packet triggers are sent from a link-local address.
        namespace.run("ip", "-6", "addr", "add", "fe80::" + ipv6.substring(ipv6.length() - 1) + "/64", "dev", name,
                "nodad");
        namespace.run("ip", "link", "set", "dev", name, "up");
    }

    /** Opens a socket in the peer's namespace. A socket belongs to the namespace of the thread that opens it. */
    <T> T inPeer(Callable<T> opening) {
        try {
            return peer.call(opening);
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    /**
     * Returns a server and a client. This transport is at one end.
     *
     * @param server whether the server is the end that uses this transport
     */
    <S extends io.netty.bootstrap.AbstractBootstrap<?, ?>> BootstrapComboFactory<S, Bootstrap> combo(boolean server,
            Supplier<S> servers, BootstrapFactory<Bootstrap> clients) {
        return new BootstrapComboFactory<>() {
            @Override
            public S newServerInstance() {
                serverIsOurs = server;
                return servers.get();
            }

            @Override
            public Bootstrap newClientInstance() {
                return clients.newInstance();
            }
        };
    }

    /** Returns an address of the end at which the most recent server was created. */
    InetSocketAddress server(int port, boolean ipv6) {
        String address = ipv6 ? serverIsOurs ? IPV6 : PEER_IPV6 : serverIsOurs ? IPV4 : PEER_IPV4;
        return new InetSocketAddress(InetAddress.ofLiteral(address), port);
    }

    @Override
    public void close() {
        ours.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
        nio.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
        device.release();
    }
}
