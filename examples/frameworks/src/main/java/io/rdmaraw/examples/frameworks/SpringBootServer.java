package io.rdmaraw.examples.frameworks;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;

/**
 * A Spring Boot WebFlux application. The transport is not selected in code but by the property {@code rdmaraw.device},
 * on the command line or in {@code application.properties}.
 */
@SpringBootApplication
@RestController
public class SpringBootServer {
    /** Serves until the process is ended. */
    public static void main(String[] args) {
        SpringApplication.run(SpringBootServer.class, args);
    }

    @GetMapping("/hello")
    String hello() {
        return "Hello, World!";
    }
}
