package io.rdmaraw.tools.demo.server;

import io.rdmaraw.tools.demo.server.ServerDemo.ClientRequest;
import io.rdmaraw.tools.demo.server.ServerDemo.ClientRequests;
import io.rdmaraw.tools.server.ServerNetwork;
import java.util.ArrayList;
import java.util.List;
import picocli.CommandLine.Command;

/** The command {@code rdma-raw demo dns}. */
@Command(name = "dns", mixinStandardHelpOptions = true,
        description = "As root: the DNS server of examples/ on AF_XDP at one end of a veth pair of its own, asked by"
                + " dig at the other end. Without root: on the loop device. Ends with 1 if an answer is wrong.")
public final class DnsDemo extends ServerDemoCommand {
    private static final int PORT = 5353;

    @Override
    int defaultPort() {
        return PORT;
    }

    @Override
    ClientRequests requests() {
        ServerNetwork.require("dig", "bind9-dnsutils");
        return (address, port) -> List.of(
                dig(address, port, "192.0.2.80", "+short", "www.example.test", "A"),
                dig(address, port, "2001:db8::80", "+short", "www.example.test", "AAAA"),
                dig(address, port, "status: NXDOMAIN", "+noall", "+comments", "nobody.example.test", "A"),
                dig(address, port, "rcvd: 2649", "+noall", "+stats", "+bufsize=4096", "big.example.test", "TXT"));
    }

    private static ClientRequest dig(String address, int port, String expected, String... question) {
        List<String> command = new ArrayList<>(List.of("dig", "@" + address, "-p", Integer.toString(port),
                "+time=5", "+tries=1"));
        command.addAll(List.of(question));
        return new ClientRequest(command, expected);
    }
}
