package io.rdmaraw.examples.frameworks;

import io.rdmaraw.vertx.RdmaRawTransport;
import io.vertx.core.Vertx;
import io.vertx.core.VertxBuilder;
import io.vertx.core.VertxOptions;

/** An HTTP server based on Vert.x. */
public final class VertxServer {
    private VertxServer() {
    }

    /** Serves until the process is ended. */
    public static void main(String[] args) {
        Settings settings = Settings.parse(args);
        VertxBuilder builder = Vertx.builder().with(new VertxOptions().setPreferNativeTransport(true)
                .setEventLoopPoolSize(settings.threads()));
        if (settings.deviceOrNull() != null) {
            builder.withTransport(new RdmaRawTransport(settings.config()));
        }
        builder.build().createHttpServer()
                .requestHandler(request -> request.response().putHeader("content-type", "text/plain")
                        .end("Hello, World!"))
                .listen(settings.port(), settings.address())
                .onSuccess(server -> settings.sayListening("vertx"))
                .onFailure(VertxServer::end);
    }

    private static void end(Throwable failure) {
        failure.printStackTrace();
        System.exit(1);
    }
}
