package io.rdmaraw.reactornetty;

import io.rdmaraw.channel.NioChannels;
import io.rdmaraw.channel.RdmaRawEventLoopGroup;
import io.rdmaraw.channel.RdmaRawIoHandlerConfig;
import io.rdmaraw.testsuite.leak.LeakExtension;
import io.rdmaraw.testsuite.leak.TroublesomeHttpClients;
import io.rdmaraw.testsuite.net.Await;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Mono;
import reactor.netty.DisposableServer;
import reactor.netty.http.server.HttpServer;
import reactor.netty.http.server.HttpServerRequest;
import reactor.netty.http.server.HttpServerResponse;

import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.concurrent.TimeUnit;

/** A Reactor Netty server leaks no buffer if clients disconnect early, read slowly or send many requests. */
@ExtendWith(LeakExtension.class)
@Tag("slow")
@Timeout(300)
class TroublesomeClientsTest {
    private static final RdmaRawIoHandlerConfig CONFIG = RdmaRawIoHandlerConfig.builder()
            .device("soft:loop:reactor-trouble").nioChannels(NioChannels.REFUSED).build();

    private final RdmaRawLoopResources loops = new RdmaRawLoopResources(2, CONFIG);
    private final RdmaRawEventLoopGroup clients = new RdmaRawEventLoopGroup(1, CONFIG);

    @AfterEach
    void end() throws InterruptedException {
        clients.shutdownGracefully(0, Await.PATIENCE.toSeconds(), TimeUnit.SECONDS).sync();
        loops.disposeLater(Duration.ZERO, Await.PATIENCE).block(Await.PATIENCE);
    }

    private static Publisher<Void> echo(HttpServerRequest request, HttpServerResponse response) {
        return request.path().equals("stream") ? response.send(request.receive().retain())
                : request.receive().aggregate().asByteArray()
                        .flatMap(body -> response.sendByteArray(Mono.just(body)).then());
    }

    @ParameterizedTest
    @ValueSource(strings = {"/whole", "/stream"})
    void noBufferIsLost(String path) throws Exception {
        DisposableServer server = HttpServer.create().runOn(loops).host("127.0.0.1").port(0)
                .handle(TroublesomeClientsTest::echo).bindNow(Await.PATIENCE);
        new TroublesomeHttpClients(clients, new InetSocketAddress("127.0.0.1", server.port()), path).run();
        server.disposeNow(Await.PATIENCE);
    }
}
