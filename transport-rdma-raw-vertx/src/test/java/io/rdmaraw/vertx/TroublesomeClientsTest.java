package io.rdmaraw.vertx;

import io.rdmaraw.channel.NioChannels;
import io.rdmaraw.channel.RdmaRawEventLoopGroup;
import io.rdmaraw.channel.RdmaRawIoHandlerConfig;
import io.rdmaraw.testsuite.leak.LeakExtension;
import io.rdmaraw.testsuite.leak.LostByFramework;
import io.rdmaraw.testsuite.leak.TroublesomeHttpClients;
import io.rdmaraw.testsuite.net.Await;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpServer;
import io.vertx.core.http.HttpServerRequest;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.net.InetSocketAddress;
import java.util.concurrent.TimeUnit;

/** A Vert.x server leaks no buffer if clients disconnect early, read slowly or send many requests. */
@ExtendWith(LeakExtension.class)
@LostByFramework(handler = "handler", reason = "VertxConnection.pending of 5.1 is not released when a connection"
        + " ends that is paused; with NIO at both ends these clients make it lose more")
@Tag("slow")
@Timeout(300)
class TroublesomeClientsTest {
    private static final RdmaRawIoHandlerConfig CONFIG = RdmaRawIoHandlerConfig.builder()
            .device("soft:loop:vertx-trouble").nioChannels(NioChannels.REFUSED).build();

    private final Vertx vertx = Vertx.builder().withTransport(new RdmaRawTransport(CONFIG)).build();
    private final RdmaRawEventLoopGroup clients = new RdmaRawEventLoopGroup(1, CONFIG);

    @AfterEach
    void end() throws Exception {
        clients.shutdownGracefully(0, Await.PATIENCE.toSeconds(), TimeUnit.SECONDS).sync();
        vertx.close().toCompletionStage().toCompletableFuture().get(Await.PATIENCE.toSeconds(), TimeUnit.SECONDS);
    }

    private static void echo(HttpServerRequest request) {
        if (request.path().equals("/stream")) {
            request.pipeTo(request.response().setChunked(true));
        } else {
            request.body().onSuccess(body -> request.response().end(body));
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"/whole", "/stream"})
    void noBufferIsLost(String path) throws Exception {
        HttpServer server = vertx.createHttpServer().requestHandler(TroublesomeClientsTest::echo)
                .listen(0, "127.0.0.1").toCompletionStage().toCompletableFuture()
                .get(Await.PATIENCE.toSeconds(), TimeUnit.SECONDS);
        new TroublesomeHttpClients(clients, new InetSocketAddress("127.0.0.1", server.actualPort()), path).run();
    }
}
