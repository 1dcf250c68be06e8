package io.rdmaraw.suite.rsocket;

import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.ChannelOption;
import io.rsocket.transport.ClientTransport;
import io.rsocket.transport.ServerTransport;
import io.rsocket.transport.netty.client.WebsocketClientTransport;
import io.rsocket.transport.netty.server.CloseableChannel;
import io.rsocket.transport.netty.server.WebsocketServerTransport;
import reactor.netty.http.client.HttpClient;
import reactor.netty.http.server.HttpServer;

/** Tests with Reactor Netty's {@code HttpServer} and {@code HttpClient} over a WebSocket. */
class RSocketWebSocketTest extends ReactorNettyPairTest {
    @Override
    ServerTransport<CloseableChannel> server(ByteBufAllocator allocator) {
        return WebsocketServerTransport.create(HttpServer.create().bindAddress(() -> ANY_PORT)
                .childOption(ChannelOption.ALLOCATOR, allocator));
    }

    @Override
    ClientTransport client(CloseableChannel server, ByteBufAllocator allocator) {
        return WebsocketClientTransport.create(HttpClient.create().host(server.address().getHostName())
                .port(server.address().getPort()).option(ChannelOption.ALLOCATOR, allocator), "/");
    }
}
