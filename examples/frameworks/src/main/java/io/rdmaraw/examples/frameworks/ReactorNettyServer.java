package io.rdmaraw.examples.frameworks;

import io.rdmaraw.reactornetty.RdmaRawLoopResources;
import reactor.core.publisher.Mono;
import reactor.netty.DisposableServer;
import reactor.netty.http.server.HttpServer;
import reactor.netty.resources.LoopResources;

/** An HTTP server based on Reactor Netty. */
public final class ReactorNettyServer {
    private ReactorNettyServer() {
    }

    /** Serves until the process is ended. */
    public static void main(String[] args) {
        Settings settings = Settings.parse(args);
        LoopResources loops = settings.deviceOrNull() == null ? LoopResources.create("http", settings.threads(), true)
                : new RdmaRawLoopResources(settings.threads(), settings.config());
        DisposableServer server = HttpServer.create().runOn(loops).host(settings.address()).port(settings.port())
                .handle((request, response) -> response.header("content-type", "text/plain")
                        .sendString(Mono.just("Hello, World!")))
                .bindNow();
        settings.sayListening("reactor-netty");
        server.onDispose().block();
    }
}
