import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpClient;
import io.vertx.core.http.HttpClientRequest;
import io.vertx.core.http.HttpClientResponse;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.HttpServer;

/** An HTTP server of Vert.x 4, which Quarkus 3 has, and its client. */
public final class Vertx4Program {
    public static void main(String[] args) throws Exception {
        Vertx vertx = Vertx.vertx();
        HttpServer server = vertx.createHttpServer()
                .requestHandler(request -> request.response().end("hello " + request.path()))
                .listen(0, "127.0.0.1").toCompletionStage().toCompletableFuture().get();
        HttpClient client = vertx.createHttpClient();
        int bytes = 0;
        for (int i = 0; i < 100; i++) {
            String path = "/" + i;
            Promise<Buffer> body = Promise.promise();
            // On a context: a response that is complete before its body is asked for has lost it.
            vertx.runOnContext(now -> client.request(HttpMethod.GET, server.actualPort(), "127.0.0.1", path)
                    .compose(HttpClientRequest::send).compose(HttpClientResponse::body).onComplete(body));
            bytes += body.future().toCompletionStage().toCompletableFuture().get().length();
        }
        System.out.println("bytes " + bytes);
        vertx.close().toCompletionStage().toCompletableFuture().get();
        System.out.println("done");
    }
}
