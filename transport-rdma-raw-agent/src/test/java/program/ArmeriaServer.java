package program;

import com.linecorp.armeria.client.WebClient;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.server.Server;

/** An Armeria server that forwards requests to another server, with the transport that Armeria selects. */
public final class ArmeriaServer {
    private ArmeriaServer() {
    }

    /** Listens on the port in the property {@code port} and forwards to the server in {@code url}. */
    public static void main(String[] args) {
        WebClient client = WebClient.of(System.getProperty("url"));
        Server.builder().http(Integer.getInteger("port")).service("/hello", (ctx, request) -> HttpResponse.of("hello"))
                .serviceUnder("/", (ctx, request) -> client.get(ctx.path())).build().start().join();
    }
}
