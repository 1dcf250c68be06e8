package program;

import com.linecorp.armeria.client.WebClient;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.server.Server;

/** A server of Armeria's that passes what it is asked for on to another, with the transport that it chooses. */
public final class ArmeriaServer {
    private ArmeriaServer() {
    }

    /** Listens on the port that the property {@code port} names, and asks the server {@code url}. */
    public static void main(String[] args) {
        WebClient client = WebClient.of(System.getProperty("url"));
        Server.builder().http(Integer.getInteger("port")).service("/hello", (ctx, request) -> HttpResponse.of("hello"))
                .serviceUnder("/", (ctx, request) -> client.get(ctx.path())).build().start().join();
    }
}
