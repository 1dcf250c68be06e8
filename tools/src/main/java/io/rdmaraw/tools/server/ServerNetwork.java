package io.rdmaraw.tools.server;

import io.rdmaraw.testsuite.net.CommandResult;
import io.rdmaraw.testsuite.net.NetworkNamespace;
import io.rdmaraw.testsuite.net.Offloads;
import io.rdmaraw.testsuite.net.PeerProcess;
import io.rdmaraw.testsuite.net.TestNetwork;
import io.rdmaraw.testsuite.net.VethEnd;
import io.rdmaraw.testsuite.net.VethPair;
import io.rdmaraw.tools.command.ToolException;
import io.rdmaraw.tools.run.JavaCommand;
import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * A veth pair between two namespaces. Servers of {@code examples/} run at one end, each in its own process, and stock
 * client programs at the other end.
 */
public final class ServerNetwork implements AutoCloseable {
    private static final Duration START_LIMIT = Duration.ofSeconds(60);

    private static final String ROUTER_MAC = "02:72:ff:ff:ff:fe";

    private final TestNetwork network = new TestNetwork("server", Path.of("."));
    private final VethPair pair;

    /** Creates a pair with the kernel's default offloads, which are all enabled, as for containers. */
    public ServerNetwork() {
        this(Offloads.AS_MADE);
    }

    /** Creates a pair with the given offloads. */
    public ServerNetwork(Offloads offloads) {
        try {
            pair = network.withoutCapture().offloads(offloads).vethPair(network.namespace(), network.namespace());
        } catch (RuntimeException e) {
            network.close();
            throw new ToolException("no network namespaces could be made: " + e.getMessage()
                    + " (this needs root, and the programs ip and ethtool)", e);
        }
    }

    /** Fails with a message if a program is missing on this host. */
    public static void require(String program, String debianPackage) {
        boolean there = Arrays.stream((System.getenv("PATH") + ":/usr/sbin:/sbin").split(File.pathSeparator))
                .anyMatch(directory -> Files.isExecutable(Path.of(directory, program)));
        if (!there) {
            throw new ToolException("the program " + program + " is missing: apt-get install " + debianPackage);
        }
    }

    public String serverAddress() {
        return pair.ours().ipv4();
    }

    public String serverInterface() {
        return pair.ours().name();
    }

    public String clientInterface() {
        return pair.peer().name();
    }

    public NetworkNamespace serverSide() {
        return pair.ours().namespace();
    }

    public NetworkNamespace clientSide() {
        return pair.peer().namespace();
    }

    /**
     * Sets the core on which the kernel receives at each end, as the interrupt of a card would. By default, veth
     * receives on the core of the sender.
     */
    public void receiveOn(int serverCore, int clientCore) {
        receiveOn(serverCore, pair.ours());
        receiveOn(clientCore, pair.peer());
    }

    private static void receiveOn(int core, VethEnd end) {
        end.namespace().run("sh", "-c", "echo " + Long.toHexString(1L << core) + " > /sys/class/net/" + end.name()
                + "/queues/rx-0/rps_cpus");
    }

    /**
     * Routes off-link traffic of the server to a MAC address that no host has. The kernel of the client drops these
     * frames immediately, because they are addressed to another host.
     */
    public void discardOffLinkTraffic() {
        String client = pair.peer().ipv4();
        int dot = client.lastIndexOf('.') + 1;
        String router = client.substring(0, dot) + (Integer.parseInt(client.substring(dot)) + 1);
        serverSide().run("ip", "neigh", "add", router, "lladdr", ROUTER_MAC, "dev", serverInterface(), "nud",
                "permanent");
        serverSide().run("ip", "route", "add", "default", "via", router);
    }

    /**
     * Starts a server and waits until it listens.
     *
     * @param prefix  start of the command line, such as {@code taskset -c 1}
     * @param example name of the server in {@code ./rdma-raw example}
     */
    public PeerProcess start(List<String> prefix, String example, String... options) {
        return start(prefix, exampleCommand(example), options);
    }

    /** Same as {@link #start(List, String, String...)} for the command of any server that accepts the same options. */
    public PeerProcess start(List<String> prefix, List<String> server, String... options) {
        List<String> command = new ArrayList<>(prefix);
        command.addAll(server);
        command.addAll(List.of("--address", serverAddress()));
        command.addAll(List.of(options));
        return awaitListening(serverSide().start(command.toArray(String[]::new)));
    }

    /** Returns the command line that runs an example in a JVM with the same class path. */
    public static List<String> exampleCommand(String example) {
        List<String> command = JavaCommand.of("io.rdmaraw.examples.Main");
        command.add(example);
        return command;
    }

    /** Waits for the line that an example prints when it listens. */
    public static PeerProcess awaitListening(PeerProcess server) {
        try {
            server.awaitOutput(" is listening on ", START_LIMIT);
            return server;
        } catch (AssertionError e) {
            server.close();
            String said = server.output().strip();
            throw new ToolException("the server did not start" + (said.isEmpty() ? ": it said nothing in "
                    + START_LIMIT.toSeconds() + " s; is this machine very busy?" : ": " + said), e);
        }
    }

    /** Runs a client until it exits and returns its output. */
    public String runClient(String... command) {
        CommandResult result = clientSide().attempt(command);
        if (result.exitCode() != 0) {
            throw new ToolException(String.join(" ", command) + " failed: " + result.output().strip());
        }
        return result.output();
    }

    @Override
    public void close() {
        network.close();
    }
}
