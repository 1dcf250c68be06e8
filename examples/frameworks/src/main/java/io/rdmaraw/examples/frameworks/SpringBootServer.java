package io.rdmaraw.examples.frameworks;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;

/**
 * An application of Spring Boot's WebFlux. It names no transport: the property {@code rdmaraw.device} does, on the
 * command line or in {@code application.properties}.
 */
@SpringBootApplication
@RestController
public class SpringBootServer {
    /** Listens until the process ends. */
    public static void main(String[] args) {
        SpringApplication.run(SpringBootServer.class, args);
    }

    @GetMapping("/hello")
    String hello() {
        return "Hello, World!";
    }
}
