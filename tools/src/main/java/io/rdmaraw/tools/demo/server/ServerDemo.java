package io.rdmaraw.tools.demo.server;

import io.rdmaraw.testsuite.net.CommandResult;
import io.rdmaraw.testsuite.net.NetworkNamespace;
import io.rdmaraw.testsuite.net.PeerProcess;
import io.rdmaraw.testsuite.net.TestNetwork;
import io.rdmaraw.tools.command.ToolException;
import io.rdmaraw.tools.server.ServerNetwork;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Demonstrates step by step that stock clients on kernel sockets work with a server on a device. */
final class ServerDemo {
    private final PrintWriter out;
    private final String example;
    private final int port;
    private boolean failed;

    /**
     * Creates the demo.
     *
     * @param example name of the server in {@code ./rdma-raw example}
     */
    ServerDemo(PrintWriter out, String example, int port) {
        this.out = out;
        this.example = example;
        this.port = port;
    }

    /** A request to the server: a client command, and the text that its output must contain. */
    record ClientRequest(List<String> command, String expected) {
    }

    /** Creates the requests for the address of the server. */
    interface ClientRequests {
        List<ClientRequest> of(String address, int port);
    }

    static boolean isRoot() {
        return "root".equals(System.getProperty("user.name"));
    }

    /**
     * Runs the server on AF_XDP at one end of a veth pair and the clients at the other end. Returns whether all answers
     * were right.
     */
    boolean onVeth(ClientRequests requests) {
        try (ServerNetwork network = new ServerNetwork()) {
            String device = "soft:xdp:" + network.serverInterface();
            print("Two network namespaces, joined by a veth pair: the server's end is " + network.serverInterface()
                    + " with " + network.serverAddress() + '.');
            print("$ ./rdma-raw example " + example + " --device " + device + " --address " + network.serverAddress()
                    + " --port " + port);
            try (PeerProcess server = network.start(List.of(), example, "--device", device, "--port",
                    Integer.toString(port))) {
                print(server.output().strip());
                print("Now a stock client, through the ordinary kernel at the other end:");
                runAll(requests.of(network.serverAddress(), port), network.clientSide());
                showKernelSockets(network);
            }
        }
        return !failed;
    }

    /** Runs the server on the loop device and the clients on this host. Returns whether all answers were right. */
    boolean onLoop(ClientRequests requests) {
        try (TestNetwork network = new TestNetwork("demo", Path.of("."))) {
            print("Without root: the server runs on the loop device, in memory; as root it would be a veth pair.");
            print("$ ./rdma-raw example " + example + " --device soft:loop --port " + port);
            List<String> command = new ArrayList<>(ServerNetwork.exampleCommand(example));
            command.addAll(List.of("--device", "soft:loop", "--port", Integer.toString(port)));
            try (PeerProcess server = ServerNetwork.awaitListening(
                    network.current().start(command.toArray(String[]::new)))) {
                print(server.output().strip());
                runAll(requests.of("127.0.0.1", port), network.current());
            }
        }
        return !failed;
    }

    private void runAll(List<ClientRequest> requests, NetworkNamespace clients) {
        for (ClientRequest request : requests) {
            print("$ " + request.command().stream().map(ServerDemo::quoted).collect(Collectors.joining(" ")));
            CommandResult result = clients.attempt(request.command().toArray(String[]::new));
            print(result.output().strip());
            if (result.exitCode() != 0 || !result.output().contains(request.expected())) {
                failed = true;
                print("That is not what it should be: '" + request.expected() + "' is missing.");
            }
        }
    }

    /** Quotes a word for a shell, so that users can paste the printed command. */
    private static String quoted(String word) {
        return word.matches("[\\w./:=@-]+") ? word : '\'' + word + '\'';
    }

    /** Prints the packet counters of the server's kernel. They are close to zero, because packets bypass the kernel. */
    private void showKernelSockets(ServerNetwork network) {
        String snmp = network.serverSide().run("cat", "/proc/net/snmp").output();
        print("The kernel of the server's end has received " + counter(snmp, "Tcp:", "InSegs") + " TCP segments and "
                + counter(snmp, "Udp:", "InDatagrams") + " UDP datagrams: they went past it.");
    }

    /** Returns a counter of /proc/net/snmp, which has a line of names and a line of values for each protocol. */
    private static String counter(String snmp, String protocol, String name) {
        List<String[]> lines = snmp.lines().filter(line -> line.startsWith(protocol)).map(line -> line.split(" "))
                .toList();
        int column = Stream.of(lines.getFirst()).toList().indexOf(name);
        if (lines.size() != 2 || column < 0) {
            throw new ToolException("the kernel has no counter " + protocol + ' ' + name);
        }
        return lines.get(1)[column];
    }

    private void print(String line) {
        out.println(line);
        out.flush();
    }
}
