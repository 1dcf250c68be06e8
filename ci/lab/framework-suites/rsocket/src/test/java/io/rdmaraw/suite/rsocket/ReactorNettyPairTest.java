package io.rdmaraw.suite.rsocket;

import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.ChannelOption;
import io.rsocket.test.TransportTest;
import io.rsocket.transport.ClientTransport;
import io.rsocket.transport.ServerTransport;
import io.rsocket.transport.netty.client.TcpClientTransport;
import io.rsocket.transport.netty.server.CloseableChannel;
import io.rsocket.transport.netty.server.TcpServerTransport;
import org.junit.jupiter.api.BeforeEach;
import reactor.netty.tcp.TcpClient;
import reactor.netty.tcp.TcpServer;

import java.net.InetSocketAddress;
import java.time.Duration;

/** RSocket's transport tests, with a server and a client of Reactor Netty in one process. */
abstract class ReactorNettyPairTest implements TransportTest {
    /** Long enough for a busy machine. */
    private static final Duration PATIENCE = Duration.ofMinutes(5);
    static final InetSocketAddress ANY_PORT = InetSocketAddress.createUnresolved("localhost", 0);

    private TransportPair<InetSocketAddress, CloseableChannel> pair;

    @BeforeEach
    void connect() {
        pair = new TransportPair<>(() -> ANY_PORT, (address, server, allocator) -> client(server, allocator),
                (address, allocator) -> server(allocator), inFragments());
    }

    /** Returns whether frames are split into fragments of some hundred bytes. */
    boolean inFragments() {
        return false;
    }

    ServerTransport<CloseableChannel> server(ByteBufAllocator allocator) {
        return TcpServerTransport.create(tcpServer(TcpServer.create().bindAddress(() -> ANY_PORT)
                .childOption(ChannelOption.ALLOCATOR, allocator)));
    }

    ClientTransport client(CloseableChannel server, ByteBufAllocator allocator) {
        return TcpClientTransport.create(tcpClient(TcpClient.create().remoteAddress(server::address)
                .option(ChannelOption.ALLOCATOR, allocator)));
    }

    TcpServer tcpServer(TcpServer plain) {
        return plain;
    }

    TcpClient tcpClient(TcpClient plain) {
        return plain;
    }

    @Override
    public Duration getTimeout() {
        return PATIENCE;
    }

    @Override
    public TransportPair<InetSocketAddress, CloseableChannel> getTransportPair() {
        return pair;
    }
}
