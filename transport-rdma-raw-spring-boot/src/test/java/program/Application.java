package program;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.reactive.function.client.WebClient;
import reactor.core.publisher.Mono;

/** An application without references to a transport or to this project. */
@SpringBootApplication
@RestController
public class Application {
    private final WebClient client;

    /** Called by Spring. */
    Application(WebClient.Builder builder) {
        client = builder.build();
    }

    public static void main(String[] args) {
        SpringApplication.run(Application.class, args);
    }

    @GetMapping("/hello")
    String hello() {
        return "hello";
    }

    @PostMapping("/echo")
    byte[] echo(@RequestBody byte[] body) {
        return body;
    }

    /** Fetches a page of another server. */
    @GetMapping("/fetch")
    Mono<String> fetch(@RequestParam("url") String url) {
        return client.get().uri(url).retrieve().bodyToMono(String.class);
    }
}
