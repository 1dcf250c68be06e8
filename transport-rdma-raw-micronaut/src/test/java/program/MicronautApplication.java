package program;

import io.micronaut.http.HttpRequest;
import io.micronaut.http.MediaType;
import io.micronaut.http.annotation.Body;
import io.micronaut.http.annotation.Consumes;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.Post;
import io.micronaut.http.annotation.Produces;
import io.micronaut.http.annotation.QueryValue;
import io.micronaut.http.client.HttpClient;
import io.micronaut.http.client.annotation.Client;
import io.micronaut.runtime.Micronaut;
import org.reactivestreams.Publisher;

/** An application without references to a transport or to this project. */
@Controller
public class MicronautApplication {
    private final HttpClient client;

    /** Called by Micronaut. */
    MicronautApplication(@Client HttpClient client) {
        this.client = client;
    }

    public static void main(String[] args) {
        Micronaut.build(args).banner(false).start();
        System.out.println("started");
    }

    @Get("/hello")
    @Produces(MediaType.TEXT_PLAIN)
    String hello() {
        return "hello";
    }

    @Post("/echo")
    @Consumes(MediaType.APPLICATION_OCTET_STREAM)
    @Produces(MediaType.APPLICATION_OCTET_STREAM)
    byte[] echo(@Body byte[] body) {
        return body;
    }

    /** Fetches a page of another server. */
    @Get("/fetch")
    @Produces(MediaType.TEXT_PLAIN)
    Publisher<String> fetch(@QueryValue String url) {
        return client.retrieve(HttpRequest.GET(url));
    }
}
