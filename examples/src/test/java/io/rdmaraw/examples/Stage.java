package io.rdmaraw.examples;

import io.rdmaraw.examples.server.RunningServer;
import io.rdmaraw.examples.server.ServerCommand;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.netty.util.concurrent.DefaultThreadFactory;
import io.rdmaraw.testsuite.net.CommandResult;
import io.rdmaraw.testsuite.net.NamespaceSupport;
import io.rdmaraw.testsuite.net.NetworkNamespace;
import io.rdmaraw.testsuite.net.TestNetwork;
import io.rdmaraw.testsuite.net.VethPair;
import picocli.CommandLine;

import java.io.File;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ThreadFactory;
import java.util.stream.Stream;

/** The hosts of a server and its clients: this host's loopback, or two namespaces connected by a veth pair. */
public final class Stage implements AutoCloseable {
    private final Setup setup;
    private final TestNetwork network = new TestNetwork("examples", Path.of("target/captures").toAbsolutePath());
    private final List<Runnable> closers = new ArrayList<>();
    private final NetworkNamespace serverSide;
    private final NetworkNamespace clientSide;
    private final String serverAddress;
    private final String clientAddress;
    private final String device;
    private VethPair pair;

    public Stage(Setup setup) {
        this.setup = setup;
        if (!setup.isOverVeth()) {
            serverSide = network.current();
            clientSide = network.current();
            serverAddress = "127.0.0.1";
            clientAddress = serverAddress;
            device = setup.device("");
            return;
        }
        NamespaceSupport.unavailableReason().ifPresent(reason -> assumeTrue(false, reason));
        require("ip:iproute2", "ethtool:ethtool");
        try {
            pair = network.withoutCapture().vethPair(network.namespace(), network.namespace());
            serverSide = pair.ours().namespace();
            clientSide = pair.peer().namespace();
            serverAddress = pair.ours().ipv4();
            clientAddress = pair.peer().ipv4();
            device = setup.device(pair.ours().name());
        } catch (Throwable e) {
            network.close();
            throw e;
        }
    }

    /** Skips the test if a program is missing. Each has the form PROGRAM:PACKAGE. */
    public static void require(String... programs) {
        for (String program : programs) {
            String name = program.substring(0, program.indexOf(':'));
            assumeTrue(Arrays.stream((System.getenv("PATH") + ":/usr/sbin:/sbin").split(File.pathSeparator))
                            .anyMatch(directory -> Files.isExecutable(Path.of(directory, name))),
                    () -> "needs " + name + ": apt-get install " + program.substring(name.length() + 1));
        }
    }

    /** Starts a server on a free port and stops it when this stage is closed. Returns the address for clients. */
    public InetSocketAddress start(ServerCommand server, String... options) throws Exception {
        List<String> all = new ArrayList<>(List.of("--address", serverAddress, "--port", "0"));
        all.addAll(transportOptions());
        all.addAll(List.of(options));
        CommandLine.populateCommand(server, all.toArray(String[]::new));
        ThreadFactory threads = serverSide.isCurrent() ? new DefaultThreadFactory("server")
                : serverSide.threadFactory();
        // A socket belongs to the namespace of the thread that opens it.
        RunningServer running = serverSide.call(() -> server.start(threads));
        closers.add(running::close);
        return running.address();
    }

    private List<String> transportOptions() {
        List<String> transport = List.of("--transport", setup.transport());
        return device.isEmpty() ? transport : Stream.concat(transport.stream(), Stream.of("--device", device)).toList();
    }

    /** Sets the MTU of both ends of the veth pair. Call it before starting the server. */
    public void setMtu(int mtuBytes) {
        pair.ours().setMtu(mtuBytes);
        pair.peer().setMtu(mtuBytes);
    }

    public Setup setup() {
        return setup;
    }

    public String serverAddress() {
        return serverAddress;
    }

    /** Returns the address of servers at the clients' end. */
    public String clientAddress() {
        return clientAddress;
    }

    /** Returns the namespace of the clients. */
    public NetworkNamespace clients() {
        return clientSide;
    }

    /** Runs a program as a client and returns its output. A failure of the program fails the test. */
    public String run(String... command) {
        return clientSide.run(command).output();
    }

    /** Runs a program as a client and returns its result, which may be a failure. */
    public CommandResult attempt(String... command) {
        return clientSide.attempt(command);
    }

    @Override
    public void close() {
        try {
            closers.reversed().forEach(Runnable::run);
        } finally {
            network.close();
        }
    }
}
