package io.rdmaraw.examples.frameworks;

import io.micronaut.http.MediaType;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.Produces;
import io.micronaut.runtime.Micronaut;
import io.micronaut.runtime.server.EmbeddedServer;

/**
 * A Micronaut application. The transport is not selected in code but by the property {@code rdmaraw.device}, on the
 * command line or in {@code application.properties}.
 */
@Controller
public class MicronautServer {
    /** Serves until the process is ended. */
    public static void main(String[] args) {
        EmbeddedServer server = Micronaut.build(args).banner(false).mainClass(MicronautServer.class).start()
                .getBean(EmbeddedServer.class);
        System.out.println("micronaut is listening on " + server.getHost() + " port " + server.getPort());
    }

    @Get("/hello")
    @Produces(MediaType.TEXT_PLAIN)
    String hello() {
        return "Hello, World!";
    }
}
