package io.rdmaraw.tools.demo.server;

import io.rdmaraw.tools.demo.server.ServerDemo.ClientRequest;
import io.rdmaraw.tools.demo.server.ServerDemo.ClientRequests;
import io.rdmaraw.tools.server.ServerNetwork;
import java.util.List;
import picocli.CommandLine.Command;

/** The command {@code rdma-raw demo http}. */
@Command(name = "http", mixinStandardHelpOptions = true,
        description = "As root: the HTTP server of examples/ on AF_XDP at one end of a veth pair of its own, asked by"
                + " curl at the other end. Without root: on the loop device. Ends with 1 if an answer is wrong.")
public final class HttpDemo extends ServerDemoCommand {
    private static final int PORT = 8080;

    @Override
    int defaultPort() {
        return PORT;
    }

    @Override
    ClientRequests requests() {
        ServerNetwork.require("curl", "curl");
        return (address, port) -> {
            String site = "http://" + address + ':' + port;
            return List.of(
                    new ClientRequest(List.of("curl", "-sS", "--max-time", "10", "-i", site + "/plaintext"),
                            "Hello, World!"),
                    new ClientRequest(List.of("curl", "-sS", "--max-time", "10", site + "/json"),
                            "{\"message\":\"Hello, World!\"}"),
                    new ClientRequest(List.of("curl", "-sS", "--max-time", "60", "-o", "/dev/null", "-w",
                            "%{http_code}, %{size_download} bytes in %{time_total} s\\n", site + "/bytes/10000000"),
                            "200, 10000000 bytes"));
        };
    }
}
