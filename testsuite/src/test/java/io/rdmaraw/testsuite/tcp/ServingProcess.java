package io.rdmaraw.testsuite.tcp;

import io.rdmaraw.channel.RdmaRawEventLoopGroup;
import io.rdmaraw.channel.RdmaRawIoHandlerConfig;
import io.rdmaraw.channel.RdmaRawServerSocketChannel;
import io.rdmaraw.testsuite.net.Await;
import io.rdmaraw.testsuite.net.NetworkNamespace;
import io.rdmaraw.testsuite.net.PeerProcess;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** An echo server in a separate JVM, which reports its counters on request. */
final class ServingProcess implements AutoCloseable {
    private static final Pattern PORT = Pattern.compile("serves (\\d+)");

    private final PeerProcess process;

    private ServingProcess(PeerProcess process) {
        this.process = process;
    }

    /** Starts a server on a device of a namespace. It binds the port or reports why it cannot. */
    static ServingProcess start(NetworkNamespace namespace, SoftDevice kind, String networkInterface, String address,
            int port) {
        return startBy(List.of(), namespace, kind, networkInterface, address, port);
    }

    /** Like {@link #start}, but runs the command through another program, for instance with fewer capabilities. */
    static ServingProcess startBy(List<String> runner, NetworkNamespace namespace, SoftDevice kind,
            String networkInterface, String address, int port) {
        List<String> command = new ArrayList<>(runner);
        command.addAll(command(kind, ServingProcess.class, kind.on(networkInterface), address,
                Integer.toString(port)));
        return new ServingProcess(namespace.start(command.toArray(String[]::new)));
    }

    /** Waits until the server serves or refuses. Returns the reason of a refusal, or an empty string. */
    String refusal() {
        Matcher refused = Pattern.compile("refused: (.*)").matcher("");
        Await.until("a port or a reason", () -> process.output().contains("serves ")
                || refused.reset(process.output()).find());
        return refused.reset(process.output()).find() ? refused.group(1) : "";
    }

    /**
     * Returns the command that runs a class of the tests in a separate JVM, with devices driven as {@code kind}
     * describes.
     */
    static List<String> command(SoftDevice kind, Class<?> main, String... arguments) {
        List<String> command = new ArrayList<>(List.of("env", kind.environment(),
                ProcessHandle.current().info().command().orElseThrow(), "-Xmx256m", "-XX:TieredStopAtLevel=1",
                "--enable-native-access=ALL-UNNAMED"));
        String softverbs = System.getProperty("io.rdmaraw.softverbs.path");
        if (softverbs != null) {
            command.add("-Dio.rdmaraw.softverbs.path=" + softverbs);
        }
        command.addAll(List.of("-cp", Objects.requireNonNullElseGet(System.getProperty("surefire.test.class.path"),
                () -> System.getProperty("java.class.path")), main.getName()));
        command.addAll(List.of(arguments));
        return command;
    }

    /** Waits until the server serves, and returns its port. */
    int port() {
        process.awaitOutput("serves ", Await.PATIENCE);
        Matcher matcher = PORT.matcher(process.output());
        Await.until("a port", () -> matcher.reset(process.output()).find());
        return Integer.parseInt(matcher.group(1));
    }

    /** Waits for a text in the server's output. */
    void await(String text) {
        process.awaitOutput(text, Await.PATIENCE);
    }

    /** Returns one of the server's TCP counters. */
    long counter(String name) {
        return ask(process, name);
    }

    /** Queries a counter of a process. */
    static long ask(PeerProcess process, String name) {
        String answer = name + " is ";
        process.send(name + '\n');
        Matcher matcher = Pattern.compile(Pattern.quote(answer) + "(\\d+)\n").matcher("");
        Await.until(name, () -> matcher.reset(process.output()).find());
        return Long.parseLong(matcher.group(1));
    }

    /** Ends the process as kill -9 does. */
    void kill() {
        ProcessHandle.of(process.pid()).ifPresent(ProcessHandle::destroyForcibly);
        process.await(Await.PATIENCE);
    }

    @Override
    public void close() {
        process.close();
    }

    public static void main(String[] arguments) throws Exception {
        String device = arguments[0];
        RdmaRawEventLoopGroup group = new RdmaRawEventLoopGroup(1,
                RdmaRawIoHandlerConfig.builder().device(device).build());
        try {
            RdmaRawServerSocketChannel server = TcpHost.listen(group, group,
                    TcpHost.address(arguments[1], Integer.parseInt(arguments[2])), new TcpHost.Echo());
            System.out.println("serves " + server.localAddress().getPort() + " of " + device);
        } catch (Exception e) {
            // Netty throws undeclared checked exceptions.
            System.out.println("refused: " + e.getMessage());
            System.exit(1);
        }
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        for (String name = input.readLine(); name != null; name = input.readLine()) {
            System.out.println(name + " is " + TcpHost.tcp(device, name));
        }
    }
}
